from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import dspy
import pytest
from pydantic import BaseModel, Field

from disco_dspy.backbones import Backbones, Guard, Ledger, explain_lm_error
from disco_dspy.config import Config, parse_config
from disco_dspy.engines import Call, CallRefused
from disco_dspy.usage import role_scope
from signatures.errors import DiscoError
from tests.disco_dspy.fake_server import FakeServer, chat_reply, failure, fake_server

KEY = "sk-test-0123456789"


class Spans(BaseModel):
    spans: list[str] = Field(json_schema_extra={"items": {"type": "string", "pattern": "^[0-9]{1,3}-[0-9]{1,3}$"}})


def config_for(server: FakeServer, **extra: Any) -> Config:
    lab = {"model": "org/model:v1", "api_base": server.api_base, "max_retries": 0, "timeout": 10, **extra}
    return parse_config({"backbones": {"lab": lab}, "roles": {"default": "lab"}})


def backbones_for(
    server: FakeServer, *, ledger: Ledger | None = None, guard: Guard | None = None, **extra: Any
) -> Backbones:
    return Backbones(config_for(server, **extra), ledger=ledger, guard=guard)


def ask(lm: dspy.LM, asynchronous: bool, prompt: str = "hello", **options: Any) -> list:
    if asynchronous:
        return asyncio.run(lm.acall(prompt, **options))
    return lm(prompt, **options)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_strict_schema_and_its_patterns_are_on_the_wire(asynchronous: bool) -> None:
    with fake_server(lambda body: chat_reply('{"spans": ["1-2"]}')) as server:
        lm = backbones_for(server).lm("parser")
        out = ask(lm, asynchronous, response_format=Spans, max_tokens=77)
    assert out == ['{"spans": ["1-2"]}']
    (seen,) = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body["model"] == "org/model:v1"
    assert (seen.body["temperature"], seen.body["max_tokens"]) == (0.0, 77)
    sent = seen.body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True
    schema = sent["json_schema"]["schema"]
    assert schema["properties"]["spans"]["items"]["pattern"] == "^[0-9]{1,3}-[0-9]{1,3}$"
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("asynchronous", [False, True])
def test_json_adapter_constrains_a_typed_signature(asynchronous: bool) -> None:
    class Parse(dspy.Signature):
        text: str = dspy.InputField()
        tree: Spans = dspy.OutputField()

    with fake_server(lambda body: chat_reply('{"tree": {"spans": ["1-2"]}}')) as server:
        predict = dspy.Predict(Parse)
        with dspy.context(lm=backbones_for(server).lm("parser"), adapter=dspy.JSONAdapter()):
            done = asyncio.run(predict.acall(text="a")) if asynchronous else predict(text="a")
    assert done.tree.spans == ["1-2"]
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_no_schema_is_sent_to_a_server_that_declares_none() -> None:
    with fake_server() as server:
        lm = backbones_for(server, capabilities={"json_schema": False}).lm("parser")
        assert lm.supports_response_schema is False
        assert "response_format" not in lm.supported_params
        assert lm.supports_function_calling is False


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_key_travels_in_the_header_and_nowhere_else(
    asynchronous: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    caplog.set_level("DEBUG")
    with fake_server() as server:
        backbones = backbones_for(server, api_key_env="LAB_KEY")
        lm = backbones.lm("parser")
        ask(lm, asynchronous)
    (seen,) = server.requests
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    places = [repr(seen.body), repr(lm), repr(vars(lm)), repr(lm.engine), repr(vars(lm.engine)), repr(lm.history)]
    places += [str(backbones.describe("parser")), repr(backbones.ledger.entries()), caplog.text]
    places.append(repr(dspy.Predict("q -> a").dump_state()))
    assert not [place for place in places if KEY in place]


def test_a_backbone_is_never_pickled_nor_saved_with_a_program() -> None:
    with fake_server() as server:
        backbones = backbones_for(server)
        for thing in (backbones, backbones.lm("parser").engine):
            with pytest.raises(TypeError, match="never pickled"):
                pickle.dumps(thing)
        with pytest.raises(TypeError, match="cannot be saved"):
            backbones.lm("parser").dump_state()


def test_no_key_in_the_environment_is_said_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    with fake_server() as server:
        backbones = backbones_for(server, api_key_env="LAB_KEY")
        with pytest.raises(DiscoError) as caught:
            backbones.preflight()
        assert (caught.value.code, caught.value.exit_code) == ("backbone/no-key", 5)
        assert "LAB_KEY" in caught.value.remedy
        with pytest.raises(CallRefused, match="LAB_KEY"):
            backbones.lm("parser")("hello")
        with pytest.raises(CallRefused, match="LAB_KEY"):
            asyncio.run(backbones.lm("parser").acall("hello"))
    assert server.requests == []
    assert len(backbones.ledger) == 0


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        (failure(401, f"Incorrect API key provided: {KEY}"), "backbone/auth", False),
        (failure(404, "The model `org/model` does not exist."), "backbone/model", False),
        (failure(400, "model 'org/model' not found"), "backbone/model", False),
        (failure(400, "unknown field"), "backbone/request", False),
        (failure(429, "slow down"), "backbone/rate-limit", True),
        (failure(500, "boom"), "backbone/server", True),
        (failure(503, "loading"), "backbone/server", True),
        (
            failure(400, "request (9031 tokens) exceeds the available context size (8192 tokens)"),
            "backbone/context",
            False,
        ),
        (failure(400, "This model's maximum context length is 4096 tokens."), "backbone/context", False),
    ],
)
def test_server_errors_become_codes_a_person_can_act_on(
    answer: tuple[int, dict], code: str, retryable: bool, asynchronous: bool
) -> None:
    with fake_server(lambda body: answer) as server:
        backbones = backbones_for(server)
        with pytest.raises(dspy.LMError) as caught:
            ask(backbones.lm("parser"), asynchronous)
    error = explain_lm_error(caught.value, "lab")
    assert (error.code, error.retryable, error.exit_code) == (code, retryable, 5)
    assert "'lab'" in error.sentence
    assert KEY not in str(error)
    assert [entry.error is not None for entry in backbones.ledger.entries()] == [True]


def test_a_prompt_too_long_is_dspys_own_error() -> None:
    answer = failure(400, "exceeds the available context size (8192 tokens)")
    with fake_server(lambda body: answer) as server, pytest.raises(dspy.ContextWindowExceededError):
        backbones_for(server).lm("parser")("hello")


def test_nobody_listens() -> None:
    with fake_server() as server:
        backbones = backbones_for(server)
    with pytest.raises(DiscoError) as caught:
        backbones.preflight()
    assert (caught.value.code, caught.value.retryable) == ("backbone/unreachable", True)


def test_a_proxy_in_the_environment_does_not_hide_this_machines_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "example.org")
    with fake_server() as server:
        lm = backbones_for(server).lm("parser")
        assert lm("hello") == ["ok"]
        assert asyncio.run(lm.acall("hello")) == ["ok"]


@pytest.mark.parametrize(("status", "calls"), [(429, 3), (500, 3), (400, 1), (401, 1), (404, 1)])
def test_dspy_retries_what_may_pass_and_each_attempt_is_on_the_ledger(
    status: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dspy.clients.execution.time.sleep", lambda seconds: None)
    with fake_server(lambda body: failure(status)) as server:
        backbones = backbones_for(server, max_retries=2)
        with pytest.raises(dspy.LMError):
            backbones.lm("parser")("hello")
    assert len(server.requests) == calls == len(backbones.ledger)


def test_the_ledger_counts_real_calls_by_role_and_not_cached_ones() -> None:
    with fake_server() as server:
        backbones = backbones_for(server)
        for prompt in ("a", "a", "b"):
            with role_scope("grapher"):
                backbones.lm("grapher")(prompt)
        backbones.lm("parser")("c")
    assert len(server.requests) == 3
    totals = backbones.ledger.totals()
    assert {role: row["calls"] for role, row in totals.items()} == {"grapher": 2, "other": 1}
    assert totals["grapher"]["prompt_tokens"] == 22
    assert totals["grapher"]["completion_tokens"] == 14
    assert totals["grapher"]["cached_prompt_tokens"] == 6
    first = backbones.ledger.entries()[0]
    assert (first.backbone, first.finish_reason, first.error) == ("lab", "stop", None)
    assert first.seconds > 0


def test_roles_on_one_backbone_share_its_lm_and_a_copy_shares_everything() -> None:
    with fake_server() as server:
        backbones = backbones_for(server)
        assert backbones.lm("parser") is backbones.lm("generator")
        assert copy.deepcopy(backbones) is backbones
        program = dspy.Predict("q -> a")
        program.lm = backbones.lm("parser")
        copied = program.deepcopy().lm
        assert isinstance(copied, dspy.LM)
        assert copied.engine is backbones.lm("parser").engine


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_guard_stops_a_call_before_it_is_made(asynchronous: bool) -> None:
    asked: list[Call] = []

    def guard(call: Call) -> None:
        asked.append(call)
        if len(asked) > 1:
            raise DiscoError("budget/spent", "The budget is spent.", "Raise --max-calls.", exit_code=4)

    with fake_server() as server:
        backbones = backbones_for(server, guard=guard, max_retries=3)
        lm = backbones.lm("parser")
        ask(lm, asynchronous, "one")
        with pytest.raises(DiscoError) as caught:
            ask(lm, asynchronous, "two")
    assert (caught.value.code, caught.value.exit_code) == ("budget/spent", 4)
    assert isinstance(caught.value, dspy.LMError)
    assert explain_lm_error(caught.value, "lab") is caught.value
    assert len(server.requests) == 1 == len(backbones.ledger)
    assert [call.backbone for call in asked] == ["lab", "lab"]


@pytest.mark.parametrize(
    ("reply", "verdict"), [('{"answer": "disco"}', "obeyed"), ("Sure! disco", "ignored"), ("{}", "ignored")]
)
def test_preflight_sees_whether_the_schema_is_obeyed(reply: str, verdict: str) -> None:
    with fake_server(lambda body: chat_reply(reply)) as server:
        backbones = backbones_for(server)
        report = backbones.preflight()
        backbones.preflight()
    assert report.json_schema == verdict
    assert report.backbone == "lab"
    assert len(server.requests) == 2, "a preflight never comes from the cache"
    assert backbones.ledger.totals()["preflight"]["calls"] == 2


def test_fingerprints_name_the_model_and_endpoint_not_the_backbone() -> None:
    a: dict[str, Any] = {"model": "m", "api_base": "http://127.0.0.1:1/v1"}
    table = {"one": a, "two": a, "other-server": {**a, "api_base": "http://127.0.0.1:2/v1"}}
    table["other-model"] = {**a, "model": "n"}
    table["no-schema"] = {**a, "capabilities": {"json_schema": False}}
    config = parse_config({"backbones": table})
    prints = {name: Backbones.single(name, config).fingerprint("parser") for name in table}
    assert prints["one"] == prints["two"]
    assert len(set(prints.values())) == 4
    description = Backbones.single("one", config).describe("parser")
    assert "127.0.0.1" not in str(description)
    assert description["decoding"] == {"temperature": 0.0, "max_tokens": 1024}


def test_embedded_backbones_are_described_without_being_started() -> None:
    from disco_dspy import embedded

    backbones = Backbones.single("embedded", Config())
    assert backbones.describe("parser")["model"] == "qwen2.5-coder-1.5b"
    assert backbones.lm("parser").supports_response_schema is True
    assert embedded.running() == ()


def test_an_embedded_model_that_was_never_pulled_says_how_to_get_it() -> None:
    backbones = Backbones.single("embedded-small", Config())
    with pytest.raises(DiscoError) as caught:
        backbones.preflight()
    assert caught.value.code == "model/absent"
    assert "disco models pull smollm2-135m" in caught.value.remedy
    assert len(backbones.ledger) == 0


def test_an_unknown_backbone_gets_the_nearest_name() -> None:
    with pytest.raises(DiscoError) as caught:
        Backbones.single("embeded", Config())
    assert caught.value.code == "backbone/unknown"
    assert "Did you mean 'embedded'?" in caught.value.remedy


def test_a_reasoning_model_with_forbidden_decoding_is_explained() -> None:
    config = parse_config({"backbones": {"r": {"model": "openai/o3-mini"}}})
    with pytest.raises(DiscoError, match="16000") as caught:
        Backbones.single("r", config).lm("parser")
    assert caught.value.code == "backbone/decoding"


def test_a_hosted_model_is_asked_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_KEY", KEY)
    with fake_server() as server:
        # LiteLLM's way to say "this provider, at that address": what a gateway user sets.
        monkeypatch.setenv("OPENAI_API_BASE", server.api_base)
        config = parse_config({"backbones": {"h": {"model": "openai/gpt-4o-mini", "api_key_env": "HOSTED_KEY"}}})
        backbones = Backbones.single("h", config)
        lm = backbones.lm("parser")
        assert lm.supports_response_schema is True
        assert lm("hello") == ["ok"]
        assert asyncio.run(lm.acall("hello")) == ["ok"]
    assert [seen.body["model"] for seen in server.requests] == ["gpt-4o-mini"] * 2
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
    assert [entry.prompt_tokens for entry in backbones.ledger.entries()] == [11, 11]


def test_calls_from_many_threads_and_loops_are_all_counted() -> None:
    with fake_server() as server:
        backbones = backbones_for(server)
        lm = backbones.lm("parser")
        predict = dspy.Predict("q -> a")
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_json_adapter_fallback=False)):
            server.answer = lambda body: chat_reply("[[ ## a ## ]]\nyes\n\n[[ ## completed ## ]]")
            dspy.Parallel(num_threads=4, disable_progress_bar=True)([(predict, {"q": str(i)}) for i in range(12)])

        async def several() -> None:
            await asyncio.gather(*(lm.acall(f"async {i}") for i in range(5)))

        asyncio.run(several())
        asyncio.run(lm.acall("another loop"))
    assert len(server.requests) == 18 == len(backbones.ledger)


def test_a_given_lm_and_a_given_engine(lm: Any) -> None:
    given = Backbones.from_lm(lm)
    assert given.lm("parser") is lm
    assert given.name_for("planner") == "given"
    assert given.describe("planner")["kind"] == "given"
    assert given.used() == ("given",)

    metered = Backbones.from_engine(lm.engine, model="scripted")
    assert metered.lm("parser").model == "disco-given/scripted"
    assert metered.fingerprint("parser") != given.fingerprint("parser")
