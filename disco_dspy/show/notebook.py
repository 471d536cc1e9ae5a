"""Pictures of trees, graphs and blueprints where a notebook shows them."""

from __future__ import annotations

from signatures.blueprint import Blueprint
from signatures.graph import RhetoricalGraph
from signatures.tree import RSTTree


def _tree(tree: RSTTree) -> str:
    from disco_dspy.show.svg import tree_svg  # drawing is loaded when something is drawn

    return tree_svg(tree)


def _graph(graph: RhetoricalGraph) -> str:
    from disco_dspy.show.svg_graph import graph_svg

    return graph_svg(graph)


def _blueprint(blueprint: Blueprint) -> str:
    from disco_dspy.show.html import blueprint_html

    return blueprint_html(blueprint)


def enable() -> None:
    """Gives trees and graphs `_repr_svg_` and blueprints `_repr_html_`, which notebooks look for.

    The types live on the ground floor, which must not know how to draw; so the drawing is hung on them from here.
    Calling it again changes nothing.
    """
    # `setattr`, since the classes do not declare what they are given.
    for kind, name, draw in (
        (RSTTree, "_repr_svg_", _tree),
        (RhetoricalGraph, "_repr_svg_", _graph),
        (Blueprint, "_repr_html_", _blueprint),
    ):
        setattr(kind, name, draw)
