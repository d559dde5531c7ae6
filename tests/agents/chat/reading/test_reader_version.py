"""The version of the reader is that of what it reads."""

from __future__ import annotations

import hashlib
import json

from reply_corpus import FOLDER, judged

from spanlab.agents.chat import READER

#: What each version reads in the stored replies.
DIGESTS = {1: "be91bec3fe59ec7d"}


def test_a_reader_that_reads_otherwise_has_another_version() -> None:
    """If this fails: raise READER in agents/chat/reading/extraction.py, and add its digest here."""
    read = [
        [reply.kind, reply.reply, reply.read] for file in sorted(FOLDER.glob("*.jsonl")) for reply in judged(file.stem)
    ]
    assert hashlib.sha256(json.dumps(read, ensure_ascii=False).encode()).hexdigest()[:16] == DIGESTS[READER]
    assert max(DIGESTS) == READER
