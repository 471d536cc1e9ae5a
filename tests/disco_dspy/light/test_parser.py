import copy
import time
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disco_dspy.corpus.units import edu_starts, sentence_edus
from disco_dspy.light.parser import LightParser
from disco_dspy.light.store import load_arrays
from signatures.decode_tree import decode_tree
from signatures.errors import DiscoError
from signatures.relations import load_inventory
from signatures.tree import check_tree, edus_from_starts

HEAP = ["He", "said", "that", "the", "dog", ",", "because", "was", "-", "(", "big", ")", ".", "But", "which", "\n"]
INVENTORY = load_inventory("refined-19")
NEWS = (
    "The council said on Monday that it would close the bridge because engineers had found cracks in two pillars. "
    "Although repairs will start in May, drivers should expect delays until winter.\n"
    "Local shops, which depend on the road, have asked for help."
)
CHINESE = (
    "因为工程师发现了裂缝，市议会决定关闭大桥。"
    "虽然维修将于五月开始，但是司机要等到冬天。商店希望得到帮助，并且要求赔偿。"
)


@cache
def parser() -> LightParser:
    return LightParser.load("light")


def test_news_is_cut_and_joined_as_a_reader_would() -> None:
    tree = parser().parse(NEWS)
    check_tree(tree, INVENTORY)
    pieces = [tree.edu_text(edu.index) for edu in tree.edus]
    assert pieces[:3] == [
        "The council said on Monday",
        "that it would close the bridge",
        "because engineers had found cracks in two pillars.",
    ]
    found = {(n.first, n.last): (n.nuclearity, n.relation) for n in tree.nodes}
    assert found[1, 3] == ("SN", "attribution")
    whole_sentences = {piece for piece in pieces if piece.startswith(("The council", "Although", "Local"))}
    assert len(whole_sentences) == 3
    assert (4, 5) in found, "the concession stays inside its sentence"


def test_given_edus_are_kept() -> None:
    edus = edus_from_starts(NEWS, [0, 27, 110])
    tree = parser().parse(NEWS, edus)
    assert tree.edus == edus
    check_tree(tree, INVENTORY)


def test_an_edu_that_starts_inside_a_word_is_no_trouble() -> None:
    edus = edus_from_starts(NEWS, [0, 5, 6, 7, 8, 30])
    check_tree(parser().parse(NEWS, edus), INVENTORY)


@pytest.mark.parametrize(
    "text", [CHINESE, "Это предложение. И ещё одно, потому что так надо.", "!!! ... ???", "", " \n "]
)
def test_other_scripts_get_exactly_the_sentence_first_prior(text: str) -> None:
    edus = edus_from_starts(text, edu_starts(text))
    prior, _ = decode_tree(text, edus, [], INVENTORY, sentence_starts=sentence_edus(text, edus))
    assert parser().segment(text) == edus
    assert parser().parse(text) == prior


def test_chinese_gets_more_than_one_unit() -> None:
    assert len(parser().segment(CHINESE)) >= 5


@settings(max_examples=150, deadline=None)
@given(
    st.text(
        st.sampled_from("the because and, said. \n'\"([é中。\r\t;:-–😀\u0301\u05d0x1") | st.characters(), max_size=150
    )
)
def test_any_text_gives_a_valid_tree(text: str) -> None:
    tree = parser().parse(text)
    check_tree(tree, INVENTORY)
    assert tree.text == text


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(HEAP), max_size=80))
def test_any_heap_of_words_gives_a_valid_tree(words: list[str]) -> None:
    check_tree(parser().parse(" ".join(words)), INVENTORY)


def test_a_text_of_hundreds_of_units_is_parsed_in_blocks() -> None:
    text = "\n".join([NEWS] * 25)
    tree = parser().parse(text)
    assert len(tree.edus) > 150
    check_tree(tree, INVENTORY)


def test_a_long_line_without_punctuation_ends_in_time() -> None:
    begun = time.process_time()
    check_tree(parser().parse("word and then " * 800), INVENTORY)
    assert time.process_time() - begun < 30


def test_the_same_text_gives_the_same_tree_in_a_fresh_parser() -> None:
    other = LightParser.load("light")
    assert other.parse(NEWS) == parser().parse(NEWS)
    assert other.fingerprint == parser().fingerprint
    assert copy.deepcopy(other) is other, "programs are copied by optimisers; weights need not be"


def test_span_scores_are_probabilities_that_favour_the_tree() -> None:
    edus = parser().segment(NEWS)
    scores = parser().span_scores(NEWS, edus)
    n = len(edus)
    assert scores.shape == (n, n)
    assert np.all((scores >= 0) & (scores <= 1))
    assert scores[0, n - 1] == 1
    assert np.all(np.tril(scores, -1) == 0)
    inside = [scores[node.first - 1, node.last - 1] for node in parser().parse(NEWS, edus).nodes]
    assert np.mean(inside) > scores[np.triu_indices(n, 1)].mean()


def test_span_scores_of_other_scripts_are_the_priors_spans() -> None:
    tree = parser().parse(CHINESE)
    scores = parser().span_scores(CHINESE, tree.edus)
    assert scores.sum() == len(tree.edus) + len(tree.nodes)


def test_sentences_open_units() -> None:
    starts = [edu.start for edu in parser().segment(NEWS)]
    assert {NEWS.index("Although"), NEWS.index("Local")} <= set(starts)
    assert all(a < b for a, b in pairwise(starts))


def test_an_unknown_form_names_the_known_ones() -> None:
    with pytest.raises(DiscoError, match="Did you mean 'light'") as caught:
        LightParser.load("lite")
    assert caught.value.code == "light/form"


def test_rich_says_what_is_missing_and_auto_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disco_dspy.light.context.find_spec", lambda name: None)
    with pytest.raises(DiscoError) as caught:
        LightParser.load("rich")
    assert caught.value.code == "extra/local"
    assert LightParser.load("auto").form == "light"


def test_rich_without_the_model_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("DISCO_CACHE", str(tmp_path))
    with pytest.raises(DiscoError) as caught:
        LightParser.load("rich")
    assert caught.value.code == "model/absent"
    assert LightParser.load("auto").form == "light"


def test_training_front_end_cannot_parse() -> None:
    with pytest.raises(ValueError, match=r"LightParser\.load"):
        LightParser.frontend("light").parse(NEWS)


class Stand:
    """Stands in for the sentence encoder: a fixed vector for each text."""

    def embed(self, texts: list[str]) -> np.ndarray:
        rows = np.stack([np.random.default_rng(sum(map(ord, text))).normal(size=384) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_the_rich_form_reads_vectors_and_gives_valid_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disco_dspy.light.parser.find_encoder", lambda required: Stand())
    rich = LightParser.load("auto")
    assert rich.form == "rich"
    assert rich.fingerprint != parser().fingerprint
    check_tree(rich.parse(NEWS), INVENTORY)
    assert rich.segment(NEWS) == parser().segment(NEWS), "both forms share one segmenter"
    edus = rich.segment(NEWS)
    assert not np.array_equal(rich.span_scores(NEWS, edus), parser().span_scores(NEWS, edus))


def test_the_weights_are_small_and_never_pickled() -> None:
    folder = resources.files("disco_dspy").joinpath("light", "weights")
    files = [file for file in folder.iterdir() if file.name.endswith(".npz")]
    assert {file.name for file in files} == {"syntax.npz", "light.npz", "rich.npz"}
    assert sum(len(file.read_bytes()) for file in files) < 8_000_000
    for file in files:
        # np.load refuses pickled members by itself with allow_pickle=False.
        assert load_arrays(file.name.removesuffix(".npz"))
