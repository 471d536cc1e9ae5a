"""Random trees, and where the gold files are."""

from pathlib import Path

from hypothesis import strategies as st

from signatures.relations import load_inventory
from signatures.tree import Node, RSTTree, edus_from_starts

DATA = Path(__file__).parent / "data"
NAMES = ("GUM_interview_gaming", "GUM_news_homeopathic", "GUM_news_worship")

_RELATIONS = load_inventory("refined-19").relations
# Everything that can stand in a text but control characters and halves of pairs, which XML has no way to write.
_TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), min_size=1, max_size=12
)
_AWKWARD = st.sampled_from(
    ['a & b < "c"', "]]>", "&amp;", "_!)", "_! )", "x_", "!x", "(NS:joint 1 2)", "# x", "a\tb\nc", "//TT_ERR x"]
) | st.sampled_from(["\\", "'", "你好，世界。", "مرحبا", "e\u0301", "🙂", "1", "-", "_"])
_EDU = (_TEXT | _AWKWARD).filter(lambda text: bool(text.strip()))


@st.composite
def trees(draw: st.DrawFn, most: int = 9) -> RSTTree:
    """Any valid tree of refined-19 with awkward texts."""
    texts = draw(st.lists(_EDU, min_size=1, max_size=most))
    gaps = draw(st.lists(st.sampled_from([" ", "\n", "\n\n ", "\u3000"]), min_size=len(texts), max_size=len(texts)))
    starts, text = [], ""
    for edu, gap in zip(texts, gaps, strict=True):
        starts.append(len(text))
        text += edu.strip() + gap
    nodes, waiting = [], [(1, len(texts))]
    while waiting:
        first, last = waiting.pop()
        if first == last:
            continue
        split = draw(st.integers(first, last - 1))
        relation = draw(st.sampled_from(_RELATIONS))
        nodes.append(Node(first, split, last, draw(st.sampled_from(relation.nuclearity)), relation.name))
        waiting += [(split + 1, last), (first, split)]
    return RSTTree(text, edus_from_starts(text, starts), tuple(nodes), "refined-19")
