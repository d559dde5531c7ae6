"""Chat sessions: how close they come to a bare loop of the same client, and what many blocks at
once save. The server is a stub in a process of its own.

python benchmarks/chat.py [BLOCKS]        150 blocks of 24 questions when not given

Much of the time of the processor that a request of a session takes is spent in the system: two
writes to the connection, reads from it, a look at each idle connection whether it is still open,
and lines that are on the disk before a reply is used. The rest is shared among the conversation,
its record, and HTTP.

Measured once, 64 at once and without delay, while other programs used the machine (1,536 requests,
two rounds in turns): 1.4 and 1.1 ms of the processor's time for each request of a session, 5.6 and
5.6 ms for each of the bare loop of the official client.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spanlab.agents.chat import ChatAgent, ChatSettings, Endpoint, RequestLimits
from spanlab.paradigms import Paradigm, load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin
from spanlab.sessions.record.reader import read_transcript

STUB = Path(__file__).resolve().parent.parent / "tests" / "helpers" / "chat" / "chat_stub.py"
QUESTIONS = 24
LATENCY_MS = 500
#: how often a session and the bare loop take turns
ROUNDS = 3


@contextmanager
def server(**options: Any) -> Iterator[str]:
    """The address of a stub server."""
    process = subprocess.Popen(
        [sys.executable, str(STUB), json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.stdin.close()
        process.wait()


def session(
    url: str, paradigm: Paradigm, blocks: int, concurrency: int
) -> tuple[float, float, list[list[dict[str, Any]]]]:
    """Take a session: its time, that of the processor, and what was sent, conversation by
    conversation."""
    plan = plan_session(paradigm, seed=1, levels={"block_length": [QUESTIONS]}, trials=blocks, design=SessionDesign())
    with tempfile.TemporaryDirectory() as folder:
        agent = ChatAgent(
            "any", ChatSettings(), Endpoint(url, key_variable=None), RequestLimits(concurrency=concurrency)
        )
        runner = Runner(begin(Path(folder), paradigm, agent, plan, Request(seed=1)), agent)
        began, worked = time.perf_counter(), time.process_time()
        runner.run()
        took, worked = time.perf_counter() - began, time.process_time() - worked
        return took, worked, conversations(runner.session.folder)


def conversations(folder: Path) -> list[list[dict[str, Any]]]:
    """The messages that were added before every reply of each conversation, as they were sent."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in read_transcript(folder):
        if "reply" in line:
            added = [
                {"role": message["role"], "content": "\n\n".join(part["text"] for part in message["parts"])}
                for message in line["sent"]
            ]
            found.setdefault(line["trial"], []).append({"added": added})
    return [found[key] for key in sorted(found, key=int)]


def bare(url: str, talks: list[list[dict[str, Any]]], concurrency: int) -> tuple[float, float]:
    """The same requests in the plainest loop of the same client: its time, and that of the
    processor."""
    import openai

    async def work() -> None:
        client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
        places = asyncio.Semaphore(concurrency)

        async def one(talk: list[dict[str, Any]]) -> None:
            async with places:
                messages: list[Any] = []
                for turn in talk:
                    messages += turn["added"]
                    await client.chat.completions.create(model="any", messages=messages)

        await asyncio.gather(*(one(talk) for talk in talks))
        await client.close()

    began, worked = time.perf_counter(), time.process_time()
    asyncio.run(work())
    return time.perf_counter() - began, time.process_time() - worked


def main(blocks: int) -> None:
    """Measure."""
    paradigm = load_paradigm("nback_verbal")
    with server() as url:
        *_, talks = session(url, paradigm, 2, 2)  # imports and first connections are not part of it
        for concurrency, some in ((8, 40), (50, 50)):
            *_, talks = session(url, paradigm, some, concurrency)
            requests = sum(map(len, talks))
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(session(url, paradigm, some, concurrency)[:2])
                theirs.append(bare(url, talks, concurrency))
            mine, plain = (requests / statistics.median(took for took, _ in runs) for runs in (ours, theirs))
            print(f"session, {concurrency} at once\t{mine}\trequests/s")
            print(f"bare loop of the client, {concurrency} at once\t{plain}\trequests/s")
            print(f"session against bare loop, {concurrency} at once\t{100 * mine / plain}\t%")
            each = [1000 * statistics.median(worked for _, worked in runs) / requests for runs in (ours, theirs)]
            for name, ms in zip(("session", "bare loop"), each, strict=True):
                print(f"{name}: time of the processor, {concurrency} at once\t{ms}\tms/request")
            print(
                f"time of the processor, session against bare loop, {concurrency} at once\t{100 * each[0] / each[1]}\t%"
            )
    with server(delay_ms=LATENCY_MS) as url:
        took, worked, talks = session(url, paradigm, blocks, blocks)
        sequential = sum(map(len, talks)) * LATENCY_MS / 1000
        print(f"{blocks} blocks of {QUESTIONS}, {blocks} at once, a server with {LATENCY_MS} ms\t{took}\ts")
        print(f"the same one after the other: {LATENCY_MS} ms for each\t{sequential}\ts")
        print(f"time of the session against that\t{100 * took / sequential}\t%")
        print(f"time of the processor\t{worked}\ts")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
