"""Where the code lies is nobody's business: no name of a module is hashed, recorded, or kept in a
checkpoint."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import spanlab
from spanlab.agents.network.checkpoints_io.checkpoint import locate

ROOT = Path(__file__).resolve().parents[2]
#: the name of a module of ours, with dots or as a path
MODULE = re.compile(
    rb"\bspanlab\.(agents|analysis|cli|core|exchange|paradigms|sessions|stimuli)\b|\b(agents|analysis|core|paradigms|sessions|stimuli)/\w+(/\w+)*\.py\b"
)


def test_names_of_modules_are_found() -> None:
    assert MODULE.search(b"spanlab.sessions.record")
    assert MODULE.search(b"at sessions/record/reader.py")
    assert not MODULE.search(b"spanlab network, data/sessions/x.csv")


def test_checkpoints_name_no_module() -> None:
    with zipfile.ZipFile(locate("laptop")) as file:
        for name in file.namelist():
            assert not MODULE.search(file.read(name)), name


@pytest.mark.parametrize("agent", ["capacity", "network:laptop"])
def test_nothing_hashed_or_recorded_names_a_module(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if agent.startswith("network"):
        pytest.importorskip("torch")
    hashed: list[bytes] = []
    sha256 = hashlib.sha256

    def noting(content: Any = b"", **options: Any) -> Any:
        hashed.append(bytes(content))
        return sha256(content, **options)

    monkeypatch.setattr(hashlib, "sha256", noting)
    result = spanlab.replay("vsr", agent=agent, trials=3, seed=1, data=tmp_path)
    assert len(hashed) > 3
    assert not [content for content in hashed if MODULE.search(content)]
    files = [path for path in result.folder.rglob("*") if path.is_file()]
    assert {"session.json", "events.jsonl"} <= {path.name for path in files}
    assert not [path.name for path in files if MODULE.search(path.read_bytes())]
