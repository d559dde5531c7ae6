"""Where chat models are served: named providers, a file of one's own, and keys that show up
nowhere."""

from __future__ import annotations

import json
import pickle
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_servers import Answer, Request, listening
from command_line import Run, complaint, output_of
from hypothesis import given
from hypothesis import strategies as st

from spanlab.agents.chat import ChatAgent, Endpoint
from spanlab.agents.chat.cost.totals import summary
from spanlab.agents.chat.providers import FILE_VARIABLE, providers, serving
from spanlab.agents.chat.transport.refusals import explain_answer
from spanlab.agents.chat.transport.replies import read_reply
from spanlab.agents.registry import make_agent
from spanlab.core.errors import SpanLabError

KEY = "sk-this-Key-must-not-be-seen-4711"
LOCAL = {
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
    "llama.cpp": "http://localhost:8080/v1",
}
REMOTE = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
        "ANTHROPIC_API_KEY",
        FILE_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of one's own, still to be written."""
    path = tmp_path / "mine.yaml"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    return path


def wrong(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpanLabError) as caught:
        providers()
    return str(caught.value)


# those that ship ----------------------------------------------------------------------------------


def test_those_that_ship() -> None:
    known = providers()
    assert {name: (known[name].base_url, known[name].key_variable) for name in REMOTE} == REMOTE
    assert {name: known[name].base_url for name in LOCAL} == LOCAL
    assert all(known[name].key_variable is None for name in LOCAL)
    assert known["gemini"].default_model == "gemini-3-flash-preview"
    assert not any(one.prices or one.limits.model_dump(exclude_none=True) for one in known.values()), (
        "what changes is not shipped"
    )


@pytest.mark.parametrize(
    ("detail", "model", "url", "provider"),
    [
        ("gpt-4o-mini", "gpt-4o-mini", "https://api.openai.com/v1", ""),
        ("org/model:free", "org/model:free", "https://api.openai.com/v1", ""),
        ("org/model:free@openrouter", "org/model:free", "https://openrouter.ai/api/v1", "openrouter"),
        ("@gemini", "gemini-3-flash-preview", REMOTE["gemini"][0], "gemini"),
        ("gemini-2@gemini", "gemini-2", REMOTE["gemini"][0], "gemini"),
        ("qwen3:8b@ollama", "qwen3:8b", LOCAL["ollama"], "ollama"),
        ("x@llama.cpp", "x", LOCAL["llama.cpp"], "llama.cpp"),
        ("claude@20250101", "claude@20250101", "https://api.openai.com/v1", ""),  # an @ of the model's own
        ("claude@20250101@openrouter", "claude@20250101", "https://openrouter.ai/api/v1", "openrouter"),
    ],
)
def test_only_a_known_name_after_the_last_at_counts(detail: str, model: str, url: str, provider: str) -> None:
    served = serving(detail)
    assert (served.model, served.endpoint.url, served.endpoint.provider) == (model, url, provider)


@pytest.mark.parametrize("detail", ["gemini-3@gemnini", "@gemnini", "@Gemini"])
def test_a_misspelt_provider_is_told(detail: str) -> None:
    with pytest.raises(SpanLabError, match="did you mean 'gemini'"):
        serving(detail)


def test_a_provider_that_is_not_known_and_one_without_a_default_model() -> None:
    with pytest.raises(SpanLabError, match="there are openai, gemini, openrouter, ollama, vllm"):
        serving("@nowhere")
    with pytest.raises(SpanLabError, match="openai has no default model: name one, such as chat:MODEL@openai"):
        serving("@openai")
    with pytest.raises(SpanLabError, match="use chat:inspect/anthropic/claude-x"):
        serving("claude-x@anthropic")
    with pytest.raises(SpanLabError, match=r"set by OPENAI_BASE_URL=http://127.0.0.1:8000/v1; leave out @http"):
        serving("m@http://127.0.0.1:8000/v1")


def test_an_agent_is_named_by_model_and_provider_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    agent = make_agent("chat:@gemini")
    assert isinstance(agent, ChatAgent)
    assert agent.name == "chat:gemini-3-flash-preview@gemini"
    assert (
        agent.settings() | {"provider": "gemini", "endpoint": REMOTE["gemini"][0], "model": "gemini-3-flash-preview"}
        == agent.settings()
    )


@pytest.mark.parametrize("name", REMOTE)
def test_a_missing_key_is_told_with_its_variable(name: str) -> None:
    with pytest.raises(SpanLabError, match=f"no key for {name}: set the environment variable {REMOTE[name][1]}$"):
        make_agent(f"chat:x@{name}")


#: what each preset's server sends beside the answer, by its documentation
SENT: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "openai": (
        {"refusal": None, "annotations": []},
        {"completion_tokens_details": {"reasoning_tokens": 40, "accepted_prediction_tokens": 0}, "total_tokens": 150},
        {"service_tier": "default", "system_fingerprint": None},
    ),
    "gemini": ({}, {"completion_tokens": 10, "total_tokens": 150}, {"created": 1, "object": "chat.completion"}),
    "openrouter": (
        {"reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}], "refusal": None},
        {"completion_tokens_details": {"reasoning_tokens": 40}, "total_tokens": 150, "cost": 0.0005},
        {"provider": "Fireworks"},
    ),
    "ollama": ({"reasoning": "Hm."}, {"total_tokens": 150}, {"system_fingerprint": "fp_ollama"}),
    "vllm": (
        {"reasoning": "Hm.", "tool_calls": [], "function_call": None, "audio": None},
        {"total_tokens": 150, "prompt_tokens_details": None},
        {"prompt_logprobs": None, "kv_transfer_params": None},
    ),
    "llama.cpp": (
        {"reasoning_content": "Hm."},
        {"total_tokens": 150, "prompt_tokens_details": {"cached_tokens": 64}},
        {"timings": {"prompt_n": 36, "cache_n": 64, "predicted_n": 50}},
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_what_a_presets_server_sends_is_read(name: str) -> None:
    assert SENT.keys() <= providers().keys()
    message, usage, beside = SENT[name]
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": {"content": "4", **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 50, **usage}
    reply = read_reply(
        json.dumps({"model": "m", "choices": [choice], "usage": usage, **beside}).encode(),
        1.0,
        tuple(providers()[name].reasoning_fields),
    )
    assert (reply.content, reply.reasoning) == ("4", "Hm." if len(message) > 0 and name != "openai" else None)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.completion_at_most) == (100, 50, None)


def test_openai_takes_the_longest_reply_under_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    assert serving("x@openai").endpoint.max_tokens_field == "max_completion_tokens"
    assert serving("x@ollama").endpoint.max_tokens_field == "max_tokens"


# a file of one's own ------------------------------------------------------------------------------


def test_a_file_adds_and_changes_key_by_key(own: Path) -> None:
    own.write_text(
        """
providers:
  lab:
    base_url: http://gpu.example:9000/v1/
    default_model: big
    prices:
      big: {input: 1, output: 2.5, cached_input: 0.1}
    limits: {requests_per_minute: 30, tokens_per_minute: 1000, concurrency: 4}
  gemini: {default_model: gemini-9}
""",
        encoding="utf-8",
    )
    known = providers()
    assert known["gemini"].default_model == "gemini-9"
    assert known["gemini"].base_url == REMOTE["gemini"][0], "what the file leaves out stays"
    served = serving("@lab")
    assert served.endpoint.url == "http://gpu.example:9000/v1"
    assert served.prices is not None
    assert served.prices.cost(1_000_000, 1_000_000) == 3.5
    assert serving("small@lab").prices is None
    agent = make_agent("chat:@lab", care={"tokens_per_minute": 500})
    assert isinstance(agent, ChatAgent)
    assert (
        agent.request_limits.requests_per_minute,
        agent.request_limits.tokens_per_minute,
        agent.request_limits.concurrency,
    ) == (30, 500, 4)


def test_the_usual_place_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "config" / "spanlab" / "providers.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("providers: {lab: {base_url: 'http://localhost:1/v1'}}", encoding="utf-8")
    assert "lab" in providers()


def test_a_file_that_was_named_must_be_there(own: Path) -> None:
    with pytest.raises(SpanLabError, match=r"cannot read .*mine\.yaml"):
        providers()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("providers: {}\nprovider: {}", ["mine.yaml:2", "unknown key 'provider'"]),
        ("[]", ["mine.yaml:1", "expected 'providers:'"]),
        ("providers:\n  Lab: {}", ["mine.yaml:2 providers > Lab", "small letters"]),
        ("providers:\n  lab: http://x/v1", ["mine.yaml:2 providers > lab", "expected keys with values"]),
        ("providers:\n  lab:\n    default_model: x", ["mine.yaml:2 providers > lab", "'base_url' is missing"]),
        (
            "providers:\n  lab:\n    base_url: ftp://x",
            ["mine.yaml:3 providers > lab > base_url", "expected a web address"],
        ),
        (
            "providers:\n  gemini:\n    default_modell: x",
            ["mine.yaml:3 providers > gemini > default_modell", "did you mean 'default_model'"],
        ),
        (
            "providers:\n  gemini:\n    limits:\n      concurrency: 0",
            ["mine.yaml:4", "limits > concurrency", "a number from 1"],
        ),
        (
            "providers:\n  gemini:\n    prices:\n      a: {input: -1, output: 2}",
            ["mine.yaml:4", "prices > a > input", "a number from 0"],
        ),
        (
            "providers:\n  gemini:\n    prices:\n      a: {input: 1}",
            ["mine.yaml:4", "prices > a", "'output' is missing"],
        ),
        (
            "providers:\n  gemini:\n    max_tokens_field: tokens",
            ["mine.yaml:3", "max_tokens_field", "max_completion_tokens"],
        ),
        (
            "providers:\n  gemini: {default_model: a, default_model: b}",
            ["mine.yaml:2", "duplicate key 'default_model'"],
        ),
        ("providers:\n  gemini:\n    default_model: [x", ["mine.yaml", "not valid YAML"]),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_key(own: Path, text: str, said: list[str]) -> None:
    message = wrong(own, text)
    assert all(part in message for part in said), message


def test_everything_that_is_wrong_is_told_at_once_in_order(own: Path) -> None:
    lines = wrong(own, "providers:\n  a: {}\n  b: {base_url: x}\n  c: 3\n").splitlines()
    assert [next(number for number in ("2", "3", "4") if f"mine.yaml:{number}" in line) for line in lines] == [
        "2",
        "3",
        "4",
    ]


@given(st.text(max_size=200) | st.text(alphabet="providers:{}[] \n-'\"!&*abc1.", max_size=120))
def test_no_file_brings_anything_but_sentences(text: str) -> None:
    from spanlab.agents.chat.providers import _over, shipped
    from spanlab.paradigms.language.yaml_source import parse

    with suppress(SpanLabError):
        _over(shipped(), parse(text, "mine.yaml"))


# keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        f"api_key: {KEY}",
        f"key: {KEY}",
        f"API-KEY: {KEY}",
        f"token: {KEY}",
        f"key_variable: {KEY}",
        f"base_url: https://me:{KEY}@x.example/v1",
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(own: Path, line: str) -> None:
    message = wrong(own, f"providers:\n  gemini:\n    {line}\n")
    assert KEY not in message
    assert "mine.yaml:3" in message
    assert "environment variable" in message or "from the environment only" in message


def _endings(error: BaseException) -> str:
    """Everything that a traceback could show of an exception, its variables too, from the first
    call on."""
    within = error.__traceback__.tb_next if error.__traceback__ is not None else None
    told = "".join(traceback.TracebackException(type(error), error, within, capture_locals=True).format())
    assert "endpoint.py" in told
    return told + repr(error) + repr(error.__dict__) + repr(pickle.dumps(error))


@pytest.mark.parametrize("key", [f"{KEY} and a space", f"{KEY}\x07", f"{KEY}é"])
def test_a_key_that_is_none_is_in_no_part_of_the_error(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", key)
    with pytest.raises(SpanLabError, match="GEMINI_API_KEY") as caught:
        serving("@gemini").endpoint.key()
    assert KEY not in _endings(caught.value)


def test_no_object_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    served, agent = serving("@gemini"), make_agent("chat:@gemini")
    assert isinstance(agent, ChatAgent)
    assert served.endpoint.has_key
    for one in (
        served,
        served.endpoint,
        served.provider,
        agent.settings(),
        agent.apparatus(),
        summary(agent.spending.totals, agent.spending.prices),
        agent.request_limits,
    ):
        assert KEY not in repr(one)
        assert KEY.encode() not in pickle.dumps(one)
    assert KEY not in repr(vars(agent))


@pytest.mark.parametrize(
    ("status", "message", "code", "said"),
    [
        (400, "API key not valid. Please pass a valid API key.", None, "refused the key; check GEMINI_API_KEY"),
        (401, f"wrong: {KEY}", None, "refused the key; check GEMINI_API_KEY"),
        (402, "This request requires more credits", 402, "has no credit left"),
        (429, "You exceeded your current quota", "insufficient_quota", "has no credit left"),
        (400, "x", "context_length_exceeded", "too long for the model 'm'"),
        (400, "Requested tokens (3000) exceed context window of 2048", None, "too long for the model 'm'"),
        (400, "the request exceeds the available context size", None, "too long for the model 'm'"),
        (400, "This model's maximum context length is 8192 tokens.", None, "too long for the model 'm'"),
        (500, "Requested tokens (3000) exceed context window of 2048", None, "too long for the model 'm'"),
        (404, "models/m is not found", None, "knows no model 'm'"),
        (400, "/chat/completions: Invalid model name passed in model=m.", None, "knows no model 'm'"),
        (
            400,
            "temperature must be 1",
            None,
            "refused the request with status 400 (temperature must be 1); change the chat settings or the model",
        ),
    ],
)
def test_what_asking_again_cannot_mend_is_told_as_that(
    monkeypatch: pytest.MonkeyPatch, status: int, message: str, code: Any, said: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    told = explain_answer(status, body, serving("m@gemini").endpoint, "m", 1, comes_back=False)
    assert said in str(told)
    assert told.permanent
    assert KEY not in str(told)


def _echoing(status: int) -> Any:
    """A server that repeats the key in whatever it says."""

    def answer(request: Request) -> Answer:
        key = request.headers["authorization"]
        if status == 200:
            message = {"role": "assistant", "content": "1"}
            return (
                200,
                "application/json",
                json.dumps(
                    {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                ).encode(),
            )
        return (
            status,
            "application/json",
            json.dumps(
                {"error": {"message": f"{key} is not good, {key.removeprefix('Bearer ')}", "code": None}}
            ).encode(),
        )

    return answer


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404])
def test_nothing_that_is_printed_or_written_holds_the_key(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: Path, status: int
) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    with listening(_echoing(status)) as tap:
        own.write_text(f"providers: {{lab: {{base_url: '{tap.base_url}', key_variable: LAB_KEY}}}}", encoding="utf-8")
        code, out, err = run(
            "replay", "vsr", "--trials", "1", "--agent", "chat:m@lab", "--cache", "cache", "--care", "max_retries=0"
        )
    assert tap.requests
    assert tap.requests[0].headers["authorization"] == f"Bearer {KEY}", "the server gets it"
    assert (code == 0) == (status == 200), err
    assert KEY not in out + err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "session.json" for path in written)
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_the_table_of_providers_says_whether_a_key_is_set(run: Run, monkeypatch: pytest.MonkeyPatch, own: Path) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    own.write_text(
        "providers: {lab: {base_url: 'http://localhost:1/v1', limits: {requests_per_minute: 60}}}", encoding="utf-8"
    )
    out = output_of(*run("list", "--providers"))
    assert KEY not in out
    for words in ("GEMINI_API_KEY (set)", "OPENROUTER_API_KEY (not set)", "60 requests per minute"):
        assert words in out
    assert str(own) in out


def test_the_table_of_providers_with_a_faulty_file(run: Run, own: Path) -> None:
    own.write_text("providers:\n  lab: {}", encoding="utf-8")
    assert "mine.yaml:2" in complaint(*run("list", "--providers"))


def test_an_endpoint_of_the_environment_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    assert Endpoint().url == serving("m").endpoint.url == "http://localhost:9/v1"
