from __future__ import annotations

import asyncio
import copy

import dspy

from disco_dspy.backbones import Backbones
from disco_dspy.config import parse_config
from disco_dspy.usage import RoleUsageTracker, current_role, role_scope
from tests.disco_dspy.fake_server import chat_reply, fake_server

TEXT = "[[ ## a ## ]]\nyes\n\n[[ ## completed ## ]]"


class Asks(dspy.Module):
    def __init__(self, role: str) -> None:
        super().__init__()
        self.role = role
        self.predict = dspy.Predict("q -> a")

    def forward(self, q: str) -> dspy.Prediction:
        return self.predict(q=q)

    async def aforward(self, q: str) -> dspy.Prediction:
        return await self.predict.acall(q=q)


class Program(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parser = Asks("parser")
        self.planner = Asks("planner")

    def forward(self, q: str) -> dspy.Prediction:
        pairs = [(self.parser, {"q": f"{q} {i}"}) for i in range(5)]
        dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
        return self.planner(q=q)


def test_totals_per_role_are_exact_across_threads_and_evaluate() -> None:
    with fake_server(lambda body: chat_reply(TEXT)) as server:
        config = parse_config({"backbones": {"lab": {"model": "m", "api_base": server.api_base}}})
        backbones = Backbones.single("lab", config)
        tracker = RoleUsageTracker()
        examples = [dspy.Example(q=f"item {i}", a="yes").with_inputs("q") for i in range(4)]
        evaluate = dspy.Evaluate(
            devset=examples, metric=lambda e, p, trace=None: True, num_threads=2, display_progress=False
        )
        with dspy.context(lm=backbones.lm("parser"), adapter=dspy.ChatAdapter(), usage_tracker=tracker):
            evaluate(Program())
            evaluate(Program())  # from the cache: nothing is spent
    rows = tracker.by_role()
    assert {role: row["calls"] for role, row in rows.items()} == {"parser": 20, "planner": 4}
    assert rows["parser"]["prompt_tokens"] == 20 * 11
    assert tracker.total() == {
        "calls": 24,
        "prompt_tokens": 264,
        "completion_tokens": 168,
        "cached_prompt_tokens": 72,
    }
    ledger = backbones.ledger.totals()
    assert {role: row["calls"] for role, row in ledger.items()} == {"parser": 20, "planner": 4}


def test_async_calls_belong_to_their_role() -> None:
    with fake_server(lambda body: chat_reply(TEXT)) as server:
        config = parse_config({"backbones": {"lab": {"model": "m", "api_base": server.api_base}}})
        backbones = Backbones.single("lab", config)

        async def both() -> None:
            with dspy.context(lm=backbones.lm("parser"), adapter=dspy.ChatAdapter()):
                await asyncio.gather(Asks("parser").acall(q="1"), Asks("planner").acall(q="2"))

        asyncio.run(both())
    assert sorted(e.role for e in backbones.ledger.entries()) == ["parser", "planner"]


def test_the_role_of_a_scope_wins_and_ends_with_it() -> None:
    assert current_role() == "other"
    with dspy.context(caller_modules=[Asks("parser"), dspy.Predict("q -> a")]):
        assert current_role() == "parser"
        with role_scope("reflection"):
            assert current_role() == "reflection"
        assert current_role() == "parser"


def test_a_copy_of_the_tracker_is_the_tracker() -> None:
    tracker = RoleUsageTracker()
    assert copy.deepcopy(tracker) is tracker
    tracker.add_usage("m", {})
    assert tracker.total()["calls"] == 0
