import pytest

from optimize.light_parser.data import Chunk
from optimize.light_parser.measure import boundary_f1, compare, f1, interval

TEXT = "aa bb cc dd"
EDUS = ((0, 2), (3, 5), (6, 8), (9, 11))


def chunk(*nodes: tuple[int, int, int, str], document: str = "d") -> Chunk:
    return Chunk(document, "news", TEXT, EDUS, nodes)


GOLD = chunk((0, 1, 3, "NS:explanation"), (0, 0, 1, "NS:elaboration"), (2, 2, 3, "NS:explanation"))


def test_wrong_attachment_costs_one_span_of_three() -> None:
    # Example E2 of Morey et al.'s scorer: original Parseval .6667 throughout.
    predicted = {(0, 11): "NS:explanation", (3, 11): "NS:elaboration", (6, 11): "NS:explanation"}
    assert {k: round(v, 2) for k, v in f1([compare(GOLD, predicted)]).items()} == dict.fromkeys("SNRF", 66.67)


def test_letters_need_what_they_say() -> None:
    predicted = {(0, 11): "SN:explanation", (0, 5): "NS:cause", (6, 11): "NS:explanation"}
    outcome = compare(GOLD, predicted)
    assert dict(outcome.hits) == {"S": 3, "N": 2, "R": 2, "F": 1}
    assert outcome.right["explanation"] == 2 and outcome.right["elaboration"] == 0
    assert outcome.labels == {"explanation": 2, "elaboration": 1}


def test_more_predicted_spans_than_gold_lower_precision() -> None:
    predicted = {(0, 11): "NS:explanation", (0, 5): "NS:elaboration", (6, 11): "NS:explanation", (0, 1): "NN:joint"}
    assert f1([compare(GOLD, predicted)])["S"] == pytest.approx(600 / 7)


def test_intervals_resample_documents_and_hold_the_figure() -> None:
    good = compare(GOLD, {(0, 11): "NS:explanation", (0, 5): "NS:elaboration", (6, 11): "NS:explanation"})
    bad = compare(chunk(*GOLD.nodes, document="e"), {(0, 11): "NN:joint"})
    low, high = interval([good, bad])["S"]
    assert (low, high) == (50.0, 100.0)
    assert low <= f1([good, bad])["S"] <= high


def test_boundaries_count_the_first_one_too() -> None:
    figures = boundary_f1([([0, 3, 6], [0, 6, 9])])
    assert figures == {"P": pytest.approx(200 / 3), "R": pytest.approx(200 / 3), "F1": pytest.approx(200 / 3)}
