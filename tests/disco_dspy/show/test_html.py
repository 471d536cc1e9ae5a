"""The blueprint as HTML, and what notebooks find."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import disco_dspy.show.notebook as notebook
from disco_dspy.formats.brackets import read_brackets
from disco_dspy.show.html import blueprint_html
from signatures.blueprint import Blueprint, Step
from signatures.evidence import Evidence
from signatures.graph import Edge, RhetoricalGraph

PLAN = Blueprint(
    (
        Step("BACKGROUND", "Say <b>what</b> & why.", (Evidence(1), Evidence(3, 2))),
        Step("CONTRAST", "Give both.", (Evidence(2),), "Each holds <in> its year."),
        Step("", "Close."),
    )
)


class Words(HTMLParser):
    """Visible text, and open tags in order."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if data.strip() and self.tags[-1] != "style":
            self.text.append(data.strip())


def read(html: str) -> Words:
    words = Words()
    words.feed(html)
    return words


def test_steps_evidence_and_reconciliation_are_shown_and_escaped() -> None:
    words = read(blueprint_html(PLAN, title="Plan", unhandled=(Edge(1, 2, "CONTRADICTS"),)))
    assert words.text == [
        "Plan", "1", "BACKGROUND", "Say <b>what</b> & why.", "1", "3.2",
        "2", "CONTRAST", "Give both.", "2", "Reconcile", "Each holds <in> its year.",
        "3", "Close.", "No step reconciles 1 CONTRADICTS 2.",
    ]  # fmt: skip
    assert words.tags.count("li") == 3
    ElementTree.fromstring(blueprint_html(PLAN))


def test_an_empty_blueprint_says_so() -> None:
    assert read(blueprint_html(Blueprint())).text == ["No steps."]


def test_rules_touch_only_the_blueprint() -> None:
    style = blueprint_html(PLAN).split("<style>")[1].split("</style>")[0]
    rules = style.replace("@media (prefers-color-scheme:dark){", "").split("}")
    assert all(rule.startswith(".disco-plan") for rule in rules if rule)


def test_notebooks_find_pictures() -> None:
    notebook.enable()
    notebook.enable()
    document = read_brackets('(NN:joint "a" "b")')
    graph = RhetoricalGraph(2, (Edge(1, 2, "SUPPORTS"),), "inter-chunk")
    for value in (document, document.tree, graph):
        assert ElementTree.fromstring(value._repr_svg_()).tag.endswith("svg")  # type: ignore[attr-defined]
    assert read(PLAN._repr_html_()).tags[0] == "div"  # type: ignore[attr-defined]
