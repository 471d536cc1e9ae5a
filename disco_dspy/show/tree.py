"""One chunk's RST tree, as an indented tree in the terminal."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from disco_dspy.show.text import one_line
from signatures.tree import Node, RSTTree

# In a multinuclear relation both parts are nuclei.
_PARTS = {"NS": ("N", "S"), "SN": ("S", "N"), "NN": ("N", "N")}


def tree_view(tree: RSTTree, title: str = "") -> Tree:
    """Returns the constituent tree: a line per node (relation, EDU range) and per EDU (number, text).

    Args:
        tree: A valid tree. Nuclei are bold, satellites dim; a node the decoder had to invent is marked `repaired`.
        title: What to write above it; by default the number of EDUs and the inventory.
    """
    nodes = {(node.first, node.last): node for node in tree.nodes}
    heading = title or f"{len(tree.edus)} EDUs, {tree.inventory}"
    root = Tree(Text(one_line(heading), style="bold"), guide_style="dim")
    # A stack instead of recursion: a right-branching tree is as deep as it has EDUs.
    waiting = [(root, 1, len(tree.edus), "")]
    while waiting:
        parent, first, last, role = waiting.pop()
        if first > last:
            continue
        if first == last:
            parent.add(_leaf(tree, first, role))
            continue
        node = nodes[first, last]
        branch = parent.add(_label(node, role))
        left, right = _PARTS[node.nuclearity]
        waiting.append((branch, node.split + 1, last, right))
        waiting.append((branch, first, node.split, left))
    return root


def _leaf(tree: RSTTree, edu: int, role: str) -> Text:
    line = Text()
    if role:
        line.append(f"{role} ", style="green" if role == "N" else "dim")
    line.append(f"{edu} ", style="cyan")
    line.append(one_line(tree.edu_text(edu)), style="" if role == "S" else "bold")
    return line


def _label(node: Node, role: str) -> Text:
    line = Text()
    if role:
        line.append(f"{role} ", style="green" if role == "N" else "dim")
    line.append(node.relation, style="magenta")
    line.append(f" {node.nuclearity} {node.first}-{node.last}", style="dim")
    if node.repaired:
        line.append(" repaired", style="yellow")
    return line
