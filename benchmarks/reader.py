"""Count the mistakes of the reader of replies on one set of the corpus: ``python benchmarks/reader.py
ninth``. It prints counts and no reply.

The sets ``unseen``, ``fresh`` and ``fresh_second`` were written from the questions alone, each
before its author looked at the reader, and each was evaluated once. Limits are exact one-sided ones
(Clopper and Pearson, 1934, Biometrika 26, 404-413) at 95 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scipy.stats import beta

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers" / "chat"))


def upper(count: int, of: int) -> float:
    """The upper limit of a proportion of which ``count`` in ``of`` were observed."""
    return 1.0 if count >= of else float(beta.ppf(0.95, count + 1, of - count))


def main(half: str) -> None:
    from reply_corpus import judged  # type: ignore[import-not-found]

    replies = judged(half)
    answered = sum(one.answer is not None for one in replies)
    accepts, rejects = (sum(getattr(one, name) for one in replies) for name in ("false_accept", "false_reject"))
    print(f"{len(replies)} replies, {answered} with an answer")
    print(
        f"false accepts: {accepts} in {len(replies)} ({accepts / len(replies):.1%}; at most"
        f" {upper(accepts, len(replies)):.1%})"
    )
    print(f"false rejects: {rejects} in {answered} ({rejects / answered:.1%}; at most {upper(rejects, answered):.1%})")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["worked_on"])
