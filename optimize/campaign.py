"""One compile from start to artifact: preflight, before, optimise, after, decide, save.

Everything that shapes the result goes into the name of the run folder, so a folder never serves two campaigns. A
campaign that was killed is run again from the beginning with the same seeds; every reply that was paid for comes out
of the folder's LM cache, so it makes no call twice and ends where the uninterrupted one would have ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dspy

from disco_dspy import artifact
from disco_dspy.backbones import Backbones, explain_lm_error
from disco_dspy.cache import lm_cache
from disco_dspy.config import Config
from disco_dspy.ledger import Ledger
from disco_dspy.program import DiscoRAG
from disco_dspy.prompting.shape import output_of, wire_schema
from disco_dspy.prompting.texts import LAYOUT_VERSION
from optimize import report
from optimize.benchmarks import Benchmark, adopt, find_benchmark
from optimize.breaker import BackboneDown, Breaker
from optimize.budget import BudgetPlan, CallBudget, counted, plan
from optimize.evaluation import Evaluation, ItemResult, evaluate
from optimize.freezing import ROLES, roles_of
from optimize.optimizers import Job, Optimizer, find_optimizer
from optimize.publish import check_out, publish
from optimize.rundir import RunDir, digest, started_at, write_json
from optimize.spec import Silent, Spec, Watcher
from optimize.splits import Splits
from optimize.stats import Comparison, compare
from signatures.errors import DiscoError, nearest

VERSIONED = ("disco-dspy", "dspy", "gepa")


class Campaign:
    """One compile.

    Args:
        spec: What to do.
        config: Backbones and their settings.
        runs: Folder of all run folders.

    Raises:
        DiscoError: When a name in the spec is unknown, the data is missing, or the budget is too small.
    """

    def __init__(self, spec: Spec, config: Config, runs: Path) -> None:
        self.spec = spec
        self.config = config
        self.benchmark: Benchmark = find_benchmark(spec.benchmark)
        self.optimizer: Optimizer = find_optimizer(spec.optimizer)
        self._check_roles()
        self.reflection = spec.reflection or spec.backbone
        names = {spec.backbone, self.reflection} if self.optimizer.reflects else {spec.backbone}
        self.preflights = sorted(names, key=lambda name: (name != spec.backbone, name))
        self._facts = backbones_for(config, spec.backbone, self.reflection)
        self.splits: Splits = self.benchmark.split(spec.seed, spec.limits)
        self.plan: BudgetPlan = self._plan()
        self.run_dir = RunDir(runs, self._identity())

    def _check_roles(self) -> None:
        for role in self.spec.roles:
            if role not in ROLES:
                raise DiscoError("role/unknown", f"There is no role {role!r}.", nearest(role, ROLES), exit_code=2)
            if role not in self.benchmark.roles:
                raise DiscoError(
                    "role/not-measured",
                    f"Benchmark {self.benchmark.name!r} says nothing about the {role}.",
                    f"It measures: {', '.join(self.benchmark.roles)}.",
                    exit_code=2,
                )
        if not self.spec.roles:
            raise DiscoError("role/none", "No role was named.", nearest("", self.benchmark.roles), exit_code=2)

    def _plan(self) -> BudgetPlan:
        def mean(changed: tuple[str, ...] | None) -> float:
            examples = (*self.splits.train, *self.splits.val, *self.splits.heldout)
            return sum(self.benchmark.calls(e, self.spec.settings, changed) for e in examples) / len(examples)

        return plan(
            self.spec.max_calls,
            preflight=len(self.preflights),
            full=mean(None),
            changed=mean(self.spec.roles),
            share=self.optimizer.share,
            pool=(len(self.splits.train), len(self.splits.val), len(self.splits.heldout)),
            uses_val=self.optimizer.uses_val,
        )

    def _identity(self) -> dict[str, Any]:
        """Everything that shapes the result; plain data."""
        start = DiscoRAG(settings=self.spec.settings)
        return {
            "benchmark": {"name": self.benchmark.name, "metric": self.benchmark.metric, "data": self.benchmark.data},
            "splits": digest(self.splits.ids()),
            "program": {
                "settings": self.spec.settings.model_dump(mode="json"),
                "start": digest(start.dump_state(json_mode=True)),
                "schemas": {role: _schema(start, role) for role in ROLES},
                "layout": LAYOUT_VERSION,
            },
            "backbone": {role: [self._facts.fingerprint(role), self._facts.decoding(role)] for role in ROLES},
            "reflection": self._facts.fingerprint("reflection") if self.optimizer.reflects else "",
            "roles": list(self.spec.roles),
            "optimizer": {"name": self.optimizer.name, "share": self.optimizer.share, **self.optimizer.settings},
            "max_calls": self.spec.max_calls,
            "seed": self.spec.seed,
            "versions": {name: _version(name) for name in VERSIONED},
        }

    def run(self, out: Path, watcher: Watcher | None = None) -> dict[str, Any]:
        """Runs the campaign, or finds that it has been run, and puts the artifact at `out`.

        Args:
            out: Folder of the artifact; replaced when it is an artifact, refused when it is something else.
            watcher: Hears about progress.

        Returns:
            The result as plain data: `decision`, `comparison`, `figures`, `plan`, `calls`, `notes`, `run`, `out`.

        Raises:
            DiscoError: When the backbone fails, another process runs this campaign, or `out` cannot be written.
        """
        check_out(out)
        with self.run_dir.locked():
            state = self.run_dir.read()
            if state.get("state") != "finished":
                with _quiet(self.run_dir.log):
                    state = self._go(state, watcher or Silent())
            publish(self.run_dir.artifact, out)
        return {**state["result"], "run": str(self.run_dir.path), "out": str(out)}

    def _go(self, state: dict[str, Any], watcher: Watcher) -> dict[str, Any]:
        run = self.run_dir
        state = {"created": state.get("created") or started_at(), "preflight": state.get("preflight", {}), **state}
        state["state"] = "running"
        run.write(state)
        ledger = Ledger(run.ledger)
        breaker = Breaker()
        budget = CallBudget(self.spec.max_calls, breaker.check)
        backbones = backbones_for(self.config, self.spec.backbone, self.reflection, ledger)
        try:
            with (
                lm_cache(run.cache),
                dspy.context(callbacks=[*dspy.settings.callbacks, breaker], max_history_size=200),
                counted(budget),
            ):
                self._preflight(backbones, state, budget, watcher)
                outcome = self._measure_and_optimise(backbones, budget, breaker, watcher)
        except BackboneDown as down:
            raise explain_lm_error(down.cause, self.spec.backbone) from down.cause
        finally:
            backbones.close()
        result = self._save(outcome, state["created"], budget, ledger)
        state = {**state, "state": "finished", "result": result}
        run.write(state)
        return state

    def _preflight(self, backbones: Backbones, state: dict[str, Any], budget: CallBudget, watcher: Watcher) -> None:
        """Asks each backbone once in the life of the campaign; a resumed campaign does not pay for it again."""
        for name in self.preflights:
            budget.charge(f"preflight {name}")
            if name not in state["preflight"]:
                watcher.say(f"Asking backbone {name!r} whether it is there.")
                found = backbones.preflight(name)
                if found.json_schema == "ignored":
                    watcher.say(
                        f"Backbone {name!r} says it obeys JSON schemas and did not; replies will need more mending. "
                        "Set capabilities.json_schema = false for it in disco.toml if that is so."
                    )
                state["preflight"][name] = asdict(found)
                self.run_dir.write(state)

    def _measure_and_optimise(
        self, backbones: Backbones, budget: CallBudget, breaker: Breaker, watcher: Watcher
    ) -> _Outcome:
        plan, splits = self.plan, self.splits
        start = DiscoRAG(backbones=backbones, settings=self.spec.settings)
        heldout = splits.heldout[: plan.heldout]

        def heard(item: ItemResult) -> None:
            breaker.check()
            watcher.item(item.score.value, budget.spent)

        watcher.phase("before", len(heldout))
        with budget.capped(plan.before):
            before = evaluate(self.benchmark.student(start), heldout, self.benchmark, on_item=heard)
        if not before.items:
            raise DiscoError(
                "budget/too-small",
                "The calls did not pay for measuring a single held-out item.",
                f"Give --max-calls {self.spec.max_calls * 2}.",
                exit_code=2,
            )
        if self.optimizer.tunes == "nothing":
            return _Outcome(start, start, before, before, [])
        job = Job(
            student=self.benchmark.student(start),
            benchmark=self.benchmark,
            roles=self.spec.roles,
            train=splits.train[: plan.train],
            val=splits.val[: plan.val],
            plan=plan,
            budget=budget,
            seed=self.spec.seed,
            baseline=sum(item.score.value for item in before.items) / len(before.items),
            reflection_lm=backbones.lm("reflection") if self.optimizer.reflects else None,
            progress=lambda value: watcher.item(value, budget.spent),
        )
        watcher.phase("optimise", plan.runs() if self.optimizer.reflects else plan.train)
        with budget.capped(budget.total - budget.spent - plan.after):
            winner = adopt(start, self.optimizer.run(job, self.optimizer.settings), self.spec.roles)
        breaker.check()
        watcher.phase("after", len(before.items))
        after = evaluate(self.benchmark.student(winner), heldout[: len(before.items)], self.benchmark, on_item=heard)
        breaker.check()
        return _Outcome(start, winner, before, after, job.notes)

    def _save(self, outcome: _Outcome, created: str, budget: CallBudget, ledger: Ledger) -> dict[str, Any]:
        comparison = outcome.comparison(self.benchmark, self.spec.seed)
        kept = outcome.winner if comparison and comparison.better else outcome.start
        tuned = self.optimizer.tunes != "nothing"
        decision = "winner" if kept is not outcome.start else "start"
        result: dict[str, Any] = {
            "decision": decision,
            "tuned": tuned,
            "comparison": asdict(comparison) if comparison else None,
            "figures": {"before": _rounded(outcome.before.figures), "after": _rounded(outcome.after.figures)},
            "items": {"before": len(outcome.before.items), "after": len(outcome.after.items)},
            "plan": asdict(self.plan),
            "calls": {"budget": budget.total, "spent": budget.spent},
            "notes": outcome.notes,
        }
        write_json(
            self.run_dir.path / "items.json",
            {
                "before": [item.to_dict() for item in outcome.before.items],
                "after": [item.to_dict() for item in outcome.after.items],
            },
        )
        text = report.render(self, result, outcome.before, outcome.after, created)
        artifact.save(kept, self.run_dir.artifact, self._provenance(result, ledger), text, created=created)
        return result

    def _provenance(self, result: dict[str, Any], ledger: Ledger) -> artifact.Provenance:
        """What the manifest says about how the program came about; nothing in it depends on when or how often."""
        spec, comparison = self.spec, result["comparison"]

        def score(side: str, name: str) -> artifact.Score:
            value, low, high = result["figures"][side][name], None, None
            if name == "score" and comparison:
                # Of the items both programs were measured on, as the decision was.
                value, (low, high) = comparison[side], comparison[f"{side}_ci"]
            return artifact.Score(value=value, low=low, high=high, items=result["items"][side])

        kept = "after" if result["decision"] == "winner" else "before"
        calls = [entry for entry in ledger.entries() if entry.error is None]
        return artifact.Provenance(
            benchmark=spec.benchmark,
            optimizer=spec.optimizer,
            optimizer_settings={
                **{name: str(value) for name, value in self.optimizer.settings.items()},
                "max_calls": str(spec.max_calls),
                "kept": result["decision"],
            },
            tuned=list(spec.roles) if result["decision"] == "winner" else [],
            metrics=[
                artifact.Metric(name=f"{spec.benchmark}/{name}", before=score("before", name), after=score(kept, name))
                for name in self.benchmark.figures
            ],
            data={**self.benchmark.data, "splits": self.run_dir.identity["splits"]},
            cost=artifact.Cost(
                calls=result["calls"]["spent"],
                prompt_tokens=sum(entry.prompt_tokens or 0 for entry in calls),
                completion_tokens=sum(entry.completion_tokens or 0 for entry in calls),
            ),
            seed=spec.seed,
            campaign=self.run_dir.digest,
        )


@dataclass
class _Outcome:
    """What the phases left behind."""

    start: DiscoRAG
    winner: DiscoRAG
    before: Evaluation
    after: Evaluation
    notes: list[str]

    def comparison(self, benchmark: Benchmark, seed: int) -> Comparison | None:
        """On the items both were measured on; None when the budget left none for the winner."""
        shared = min(len(self.before.items), len(self.after.items))
        if not shared:
            return None
        if shared < len(self.before.items):
            self.notes.append(f"The budget left calls for {shared} of {len(self.before.items)} held-out items after.")
        return compare(self.before.scores[:shared], self.after.scores[:shared], benchmark.headline, seed)


def backbones_for(config: Config, backbone: str, reflection: str, ledger: Ledger | None = None) -> Backbones:
    """Backbones where one plays every role of the program and another may write instructions.

    Raises:
        DiscoError: `backbone/unknown`, with the nearest name.
    """
    for name in (backbone, reflection):
        config.backbone(name)
    roles = {"default": backbone, "reflection": reflection}
    return Backbones(config.model_copy(update={"roles": roles}), ledger=ledger)


def _schema(program: DiscoRAG, role: str) -> str:
    """Digest of a role's inputs and of the schema of its output."""
    signature = roles_of(program)[role].predict.signature
    return digest({"inputs": list(signature.input_fields), "output": wire_schema(output_of(signature)[1])})


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a clone that is not installed
        return "not installed"


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(figure, 6) for name, figure in figures.items()}


@contextlib.contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Sends what optimisers print, and DSPy's warnings, to the run's log: the screen is for people."""
    with log.open("a", encoding="utf-8") as sink, contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        yield
