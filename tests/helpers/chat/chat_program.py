"""A session with a chat model as a program of its own, to be stopped or killed."""

PROGRAM = """
import sys
from pathlib import Path
from spanlab.agents.chat import RequestLimits, ChatAgent, ChatSettings, Endpoint
from spanlab.paradigms import load_paradigm, plan_session
from spanlab.paradigms.language.schema import SessionDesign
from spanlab.sessions import Request, Runner, begin, find_sessions, reopen
data, base_url, blocks, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
request_limits = RequestLimits(concurrency=concurrency, timeout_s=3, max_retries=40, max_retries_begun=40)
agent = ChatAgent("any", ChatSettings(reask=0), Endpoint(base_url, key_variable=None), request_limits)
paradigm = load_paradigm("nback_verbal")
plan = plan_session(paradigm, seed=4, levels={"block_length": [24]}, trials=blocks, design=SessionDesign())
folders = find_sessions([data]) if data.exists() and any(data.iterdir()) else []
session = reopen(folders[0]) if folders else begin(data, paradigm, agent, plan, Request(seed=4))
Runner(session, agent).run()
"""
