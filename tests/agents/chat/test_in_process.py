"""Models in this program: what they reply and how probable they hold answers is what the model itself
computes, alone or together with others, with words and with pictures."""

from __future__ import annotations

import asyncio
import base64
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from PIL import Image  # noqa: E402
from tiny_models import seeing_model, text_model  # noqa: E402

import spanlab  # noqa: E402
from spanlab.agents.chat import ChatAgent, ChatSettings, Outgoing  # noqa: E402
from spanlab.agents.chat.likelihoods import Scorer, plain_text  # noqa: E402
from spanlab.agents.chat.messages import Message, Reply, Request, ScoredReply, Text  # noqa: E402
from spanlab.agents.chat.providers import InProcess  # noqa: E402
from spanlab.agents.chat.transport.endpoint import EndpointError  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms.responses import Choice  # noqa: E402
from spanlab.sessions import read_session  # noqa: E402
from spanlab.sessions.record.reader import read_events  # noqa: E402

ASKED = [{"role": "system", "content": "Remember."}, {"role": "user", "content": "Which one?"}]
NINE = Choice.model_validate({"options": 9})
WORDS = Choice.model_validate({"options": ("same", "different")})


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_model(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_model(tmp_path_factory.mktemp("base"), template="")


@pytest.fixture(scope="module")
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeing_model(tmp_path_factory.mktemp("eyes"))


def outgoing(messages: Sequence[Any] = ASKED, name: str = "one", text: str | None = None, **options: Any) -> Outgoing:
    return Outgoing("m", tuple(messages), {"max_tokens": 6, "temperature": 0, **options}, name, text=text)


def replies(hook: InProcess, requests: Sequence[Outgoing]) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return await asyncio.gather(*map(hook.send, requests))

    return asyncio.run(all_of_them())


def probability(path: Path, before: str, after: str) -> float:
    """The logarithm of the probability that a text goes on so, one token after the other."""
    model = transformers.AutoModelForCausalLM.from_pretrained(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    tokens, total = tokenizer(before)["input_ids"], 0.0
    with torch.no_grad():
        for token in tokenizer(after)["input_ids"]:
            total += float(model(torch.tensor([tokens])).logits[0, -1].log_softmax(-1)[token])
            tokens.append(token)
    return total


def likelihoods(hook: InProcess, way: str, kind: Choice, **settings: Any) -> dict[str, float]:
    scorer = Scorer(ChatSettings.read({"likelihoods": way, **settings}))
    messages = tuple(Message(one["role"], (Text(one["content"]),)) for one in ASKED)  # type: ignore[arg-type]
    requests = scorer.requests(kind, Request(messages))
    heard = replies(
        hook,
        [Outgoing("m", tuple(m.sent() for m in one.messages), one.options, "c", text=one.text) for one in requests],
    )
    found = scorer.read(kind, heard)
    assert found is not None
    assert not found.missing
    return dict(found.logprobs)


def test_a_reply_is_what_the_model_writes_and_its_tokens_are_counted(chat: Path) -> None:
    (reply,) = replies(InProcess(str(chat)), [outgoing(logprobs=True, top_logprobs=5)])
    model = transformers.AutoModelForCausalLM.from_pretrained(chat)
    tokenizer = transformers.AutoTokenizer.from_pretrained(chat)
    given = tokenizer("[system]Remember.</s>[user]Which one?</s>[assistant]", return_tensors="pt")["input_ids"]
    wanted = model.generate(given, max_new_tokens=6, do_sample=False)[0, given.shape[1] :].tolist()
    assert reply.content == tokenizer.decode(wanted, skip_special_tokens=True)
    assert (reply.prompt_tokens, reply.completion_tokens) == (given.shape[1], len(wanted))
    assert reply.finish_reason == ("stop" if 2 in wanted else "length")
    with torch.no_grad():
        first = model(given).logits[0, -1].log_softmax(-1)
    assert reply.first_logprobs is not None
    assert len(reply.first_logprobs) == 5
    assert max(reply.first_logprobs.values()) == pytest.approx(float(first.max()), abs=1e-4)
    assert "torch" in (reply.fingerprint or "")


def test_together_they_reply_as_each_alone(chat: Path) -> None:
    asked = [
        outgoing([*ASKED, {"role": "assistant", "content": "1"}, {"role": "user", "content": "x" * n}], str(n))
        for n in range(1, 9)
    ]
    hook, calls = InProcess(str(chat)), 0
    generate = hook._loaded[0].generate

    def counted(*given: Any, **how: Any) -> Any:
        nonlocal calls
        calls += 1
        return generate(*given, **how)

    hook._loaded[0].generate = counted
    together = replies(hook, asked)
    assert calls == 1
    alone = [replies(InProcess(str(chat)), [one])[0] for one in asked]
    assert [one.content for one in together] == [one.content for one in alone]
    assert [one.prompt_tokens for one in together] == [one.prompt_tokens for one in alone]


def test_a_seed_gives_the_same_reply_whoever_is_beside_it(chat: Path) -> None:
    one, other = outgoing(temperature=1.5, seed=4), outgoing(temperature=1.5, seed=5)
    hook = InProcess(str(chat))
    first, second, again = replies(hook, [one, other, one])
    assert first.content == again.content == replies(hook, [one])[0].content
    assert first.content != second.content


@pytest.mark.parametrize("kind", [NINE, WORDS], ids=["one token", "several tokens"])
def test_an_answer_is_as_probable_as_the_model_holds_it(chat: Path, kind: Choice) -> None:
    found = likelihoods(InProcess(str(chat)), "prompt", kind)
    before = "[system]Remember.</s>[user]Which one?</s>[assistant]"
    for answer in kind.written_answers():
        assert found[answer] == pytest.approx(probability(chat, before, f"{answer}</s>"), abs=2e-3)


def test_a_model_that_was_never_taught_to_chat_is_scored_at_the_borders_of_its_tokens(base: Path) -> None:
    found, before = likelihoods(InProcess(str(base)), "echo", WORDS), plain_text(ASKED)
    for answer in WORDS.written_answers():
        assert found[answer] == pytest.approx(probability(base, before, f" {answer}\n"), abs=2e-3)
    (reply,) = replies(InProcess(str(base)), [outgoing()])
    assert reply.prompt_tokens == len(before)


def picture(colour: str) -> dict[str, Any]:
    file = io.BytesIO()
    Image.new("RGB", (96, 96), colour).save(file, format="PNG")
    url = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return {
        "role": "user",
        "content": [{"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {"url": url}}],
    }


def test_pictures_reach_a_model_that_sees(eyes: Path) -> None:
    hook = InProcess(str(eyes))
    asked = [outgoing([picture(colour)], colour, max_tokens=12) for colour in ("red", "navy")]
    red, navy = replies(hook, asked)
    assert red.prompt_tokens == navy.prompt_tokens
    assert (red.prompt_tokens or 0) > (
        replies(hook, [outgoing([{"role": "user", "content": "Which?"}])])[0].prompt_tokens or 0
    ) + 9
    assert red.content != navy.content
    assert red.content == replies(InProcess(str(eyes)), asked[:1])[0].content
    scored = {"max_tokens": 1, "prompt_logprobs": 0, "add_generation_prompt": False}
    seen = []
    for colour in ("red", "navy"):
        request = Outgoing("m", (picture(colour), {"role": "assistant", "content": "7"}), scored, colour)
        (reply,) = replies(hook, [request])
        assert isinstance(reply, ScoredReply)
        assert reply.echoed is not None
        assert reply.echoed[-1][0] == "7"
        seen.append(reply.echoed[-1][1])
    assert all(value is not None and math.isfinite(value) for value in seen)
    assert seen[0] != seen[1]


def test_it_takes_a_session_like_any_model(chat: Path, tmp_path: Path) -> None:
    result = spanlab.replay(
        "vsr",
        f"chat:hf/{chat}",
        trials=3,
        levels={"list_length": [2]},
        chat={"temperature": 0, "max_tokens": 4, "reask": 0, "likelihoods": "prompt"},
        data=tmp_path,
        say=lambda sentence: None,
    )
    account = result.info["account"]
    assert account["replies"] == 6 * (1 + 10), "each question, and of it the conversation and nine answers"
    assert account["in_doubt"] == account["paid_twice_at_most"] == 0
    assert result.info["agent_settings"]["endpoint"] == f"transformers: {chat}"


def test_what_cannot_be_is_told(chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpanLabError, match=r"there is no folder .*nothing with a model"):
        ChatAgent("m", hook=InProcess(str(tmp_path / "nothing")))
    with pytest.raises(EndpointError, match="takes no 'response_format'"):
        InProcess(str(chat)).check_options({"response_format": {}})
    with pytest.raises(SpanLabError, match="takes no 'mirostat'"):
        ChatAgent("m", ChatSettings.read({"extra_body": {"mirostat": 2}}), hook=InProcess(str(chat)))


STRICT = """{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('System role not supported') }}
{%- elif (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}
{%- endif %}[{{ m['role'] }}]{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"""
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text_model(tmp_path_factory.mktemp("strict"), template=STRICT)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "takes no system message (System role not supported); set instructions_as to user, or turn on adapt"),
        ({"instructions_as": "user", "delivery": "separate"}, "set delivery to merged"),
        ({"constrained": "json"}, "set constrained to none"),
    ],
)
def test_what_its_template_does_not_take_is_said(
    strict: Path, tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    with pytest.raises(SpanLabError, match=re.escape(says)):
        spanlab.replay("vsr", agent=f"chat:hf/{strict}", trials=1, data=tmp_path, chat={"max_tokens": 2, **settings})


def test_instructions_begin_the_first_message_where_that_was_asked_for(strict: Path, tmp_path: Path) -> None:
    made = spanlab.replay("vsr", agent=f"chat:hf/{strict}", trials=1, data=tmp_path, chat={"max_tokens": 2}, adapt=True)
    assert read_session(made.folder)["account"]["dialect"]["system"] is False


def test_a_conversation_that_is_too_long_fails_alone(chat: Path) -> None:
    hook = InProcess(str(chat))
    longest = hook._loaded[0].config.max_position_embeddings
    long = [{"role": "user", "content": "a " * longest}]
    cut = [{"role": "user", "content": "a" * (longest - 40)}]

    async def ask() -> list[Any]:
        asked = [outgoing(), outgoing(long), outgoing(cut, max_tokens=100)]
        return await asyncio.gather(*map(hook.send, asked), return_exceptions=True)

    short, failed, ended = asyncio.run(ask())
    assert short == replies(hook, [outgoing()])[0]
    assert isinstance(failed, EndpointError)
    assert "too long for the model" in str(failed)
    assert failed.of_request
    assert ended.prompt_tokens + ended.completion_tokens <= longest


def test_pictures_are_for_models_that_see(chat: Path) -> None:
    with pytest.raises(EndpointError, match="takes no pictures"):
        replies(InProcess(str(chat)), [outgoing([{"role": "user", "content": [PICTURE]}])])


@pytest.mark.parametrize(("reasoning", "told"), [("none", True), ("before", False)])
def test_probabilities_of_the_first_token_are_those_of_answers_that_come_first(
    chat: Path, tmp_path: Path, reasoning: str, told: bool
) -> None:
    settings = {"max_tokens": 2, "reasoning": reasoning, "extra_body": {"logprobs": True, "top_logprobs": 20}}
    made = spanlab.replay("vsr", agent=f"chat:hf/{chat}", trials=1, data=tmp_path, chat=settings)
    notes = [event["notes"] for event in read_events(made.folder) if event["event"] == "step" and "ask" in event]
    assert notes
    assert all(("answer_logprobs" in note) == told for note in notes)
