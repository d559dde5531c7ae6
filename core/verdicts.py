"""Declarations of verdicts: sentences that say yes, no, the same or how sure, and when each of them
says the opposite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VerdictRule:
    """A verdict that SpanLab prints: its sentences, its ground, and two tests that plant a case
    each way.

    It is declared in the module that decides it, in a tuple ``VERDICTS`` of literals: documentation
    and tests read them from the source, without an import.

    Parameters
    ----------
    name : a few words, unique in the package
    says : the sentences, or their parts, as they are printed; ``…`` stands for any text, and ``=``
        in front for a whole cell of a table
    rests_on : what is compared with what
    says_no_when : the smallest fault that turns it round, with its threshold
    tests : ids of two tests, as pytest prints them: a planted case of yes, and one of no
    """

    name: str
    says: tuple[str, ...]
    rests_on: str
    says_no_when: str
    tests: tuple[str, str]
