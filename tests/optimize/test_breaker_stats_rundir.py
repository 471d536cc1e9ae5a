from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import dspy
import pytest

from optimize.breaker import BackboneDown, Breaker
from optimize.publish import publish
from optimize.rundir import RunDir, started_at, write_json
from optimize.scores import Score
from optimize.stats import compare
from signatures.errors import DiscoError
from tests.scripted import scripted_lm


def test_the_breaker_trips_on_a_failed_call_and_not_on_a_long_prompt() -> None:
    breaker = Breaker()
    lm = scripted_lm({"other": "ok"})
    with dspy.context(callbacks=[breaker]):
        lm("fine")
        breaker.check()
        lm.script.fail("other", dspy.ContextWindowExceededError(message="too long"))
        with pytest.raises(dspy.ContextWindowExceededError):
            lm("long")
        breaker.check()
        lm.script.fail("other", dspy.LMAuthError("no", status=401))
        with pytest.raises(dspy.LMAuthError):
            lm("refused")
    with pytest.raises(BackboneDown) as caught:
        breaker.check()
    assert isinstance(caught.value.cause, dspy.LMAuthError)
    assert not isinstance(caught.value, Exception)


def mean(scores: Sequence[Score]) -> float:
    return sum(score.value for score in scores) / len(scores)


def test_paired_comparison() -> None:
    low, high = [Score(0.2), Score(0.4)] * 10, [Score(0.3), Score(0.5)] * 10
    made = compare(low, high, mean, 0)
    assert made.better and made.items == 20
    assert (made.before, made.after) == pytest.approx((0.3, 0.4))
    # Every item gained the same: the paired difference is certain though both means are not.
    assert made.difference_ci == pytest.approx((0.1, 0.1)) and made.chance_better == 1.0
    assert made.before_ci[0] < 0.3 < made.before_ci[1]
    assert compare(low, high, mean, 0) == made
    assert not compare(low, low, mean, 0).better
    with pytest.raises(ValueError, match="paired"):
        compare(low, high[:3], mean, 0)


def test_a_score_outside_the_unit_interval_is_a_fault() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        Score(1.2)


def test_run_folder_keeps_its_state_and_refuses_anothers(tmp_path: Path) -> None:
    run = RunDir(tmp_path, {"b": 1, "a": 2})
    assert RunDir(tmp_path, {"a": 2, "b": 1}).path == run.path
    with run.locked():
        assert run.read() == {}
        run.write({"state": "running"})
        assert run.read()["state"] == "running"
        write_json(run.path / "campaign.json", {"digest": "other"})
        with pytest.raises(DiscoError, match="campaign/broken"):
            run.read()
        (run.path / "campaign.json").write_text("{", encoding="utf-8")
        with pytest.raises(DiscoError, match="campaign/broken"):
            run.read()


def test_time_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert started_at() == "1970-01-01T00:00:00Z"


def test_publishing_replaces_in_one_step_and_leaves_equal_folders_alone(tmp_path: Path) -> None:
    source, out = tmp_path / "a", tmp_path / "deep" / "b"
    source.mkdir()
    (source / "manifest.json").write_text(json.dumps({"v": 1}), encoding="utf-8")
    assert publish(source, out) and not publish(source, out)
    (out / "leftover").write_text("x", encoding="utf-8")
    assert publish(source, out)
    assert [p.name for p in out.iterdir()] == ["manifest.json"]
    assert [p.name for p in out.parent.iterdir()] == ["b"]
