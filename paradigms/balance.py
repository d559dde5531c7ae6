"""Balanced sessions: answers and random factors that come equally often, and short runs of one
answer, by a choice among seeds.

A trial stays what its paradigm, levels and seed make of it: nothing is overridden. What a trial is
to have (its correct answers, its levels of random factors) is decided first, and then a seed is
looked for whose trial has it. The candidates are the seeds of the session in order (index 0, 1, 2,
... of :func:`.identity.trial_seed` for the purpose ``session``); each is tried for one combination
of levels only, and taken once at most. So the seeds of two trials never meet, nor do those of
different sessions, of practice, replacements or data sets, which differ in the master seed or the
purpose.

Where trials have few questions, answers are dealt over the trials of each combination (its *cell*),
for every place of a question in the trial by itself: the counts of two answers differ by at most
one, in a cell as over the whole session. The order of answers is grown from question to question:
among the answers that the cell has left, and that the longest run allows, each is equally likely. A
coin is harder to foresee than a deck of cards, so that answers become predictable only where a cell
has nothing else left. Where trials have many questions, or not always equally many, whole trials
are chosen one after the other, so that no run becomes too long and the counts of a cell end up
even.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..core.errors import SpanLabError
from ..core.json_values import grouped
from .compile import PlannedTrial, asking_steps, resolve_levels
from .identity import canonical, stream, trial_seed
from .language.diagnostics import listed, show
from .language.schema import ANSWER, SessionDesign
from .paradigm import Generator, Paradigm

#: the correct answers of a trial, in the order of its questions
Answers = tuple[Any, ...]
#: levels of the random factors that are balanced, in their order
Chosen = tuple[Any, ...]

#: trials whose answers could fall out in more ways are chosen one by one
_MOST_KINDS = 1024
#: trials that are looked at to know which questions a cell has
_PROBES = 3
#: candidates for one kind of trial, before it is taken for one that does not come; and for one
#: trial where trials are chosen one by one
_PER_KIND, _PER_TRIAL = 200, 20_000
#: orders that are tried for each way to deal the answers, and ways to deal them
_GROWN, _DEALT = 50, 20
#: weights of orders grow no further than by so many forced answers: more in one trial are rare, and
#: every one more would double the candidates
_FORCED = 3
_CHANGING = "the answers that are allowed change from trial to trial, so none can come equally often"


class BalanceError(SpanLabError):
    """A wish for balance that cannot be met.

    Parameters
    ----------
    key : of the design: balance or max_run
    """

    def __init__(self, paradigm: str, key: str, message: str) -> None:
        self.key, self.why = key, message
        super().__init__(f"{paradigm}: {key}: {message}")


def balanced(
    paradigm: Paradigm, seed: int, design: SessionDesign, planned: Sequence[PlannedTrial], generator: Generator
) -> list[PlannedTrial]:
    """The planned trials, with seeds that give the balance and the runs that the design asks for.

    Parameters
    ----------
    seed : of the session
    planned : levels and order stand already; trials of the same levels are a cell

    Raises
    ------
    BalanceError
        when the trials cannot be had.
    """
    return _Balancer(paradigm, seed, design, planned, generator).result()


def answers_of(
    paradigm: Paradigm, levels: Mapping[str, Any], seed: int, generator: Generator, phase: str | None = None
) -> Answers:
    """The correct answers of a trial, without building it."""
    return tuple(
        step.ask.answer(names)
        for step, names in asking_steps(paradigm, levels, seed, generator, phase)
        if step.ask is not None
    )


def replaced_seed(
    paradigm: Paradigm,
    design: SessionDesign,
    levels: Mapping[str, Any],
    planned: PlannedTrial,
    generator: Generator,
    candidates: Iterator[int],
) -> int | None:
    """The first seed of a trial that has the same answers as the planned one, though it is another
    trial; None when no candidate has.

    Parameters
    ----------
    levels : of all factors, random ones too
    """
    answers = answers_of(paradigm, planned.levels, planned.seed, generator, design.question)
    return next(
        (seed for seed in candidates if answers_of(paradigm, levels, seed, generator, design.question) == answers), None
    )


@dataclass
class _Cell:
    """The trials of one combination of levels.

    Parameters
    ----------
    levels : of the crossed factors
    members : their numbers in the plan (from 0), block by block
    factors : the balanced random factors with their levels
    options : of every question in order, the allowed answers; None where trials are chosen one by
        one
    """

    levels: Mapping[str, Any]
    members: list[list[int]]
    factors: dict[str, tuple[Any, ...]]
    options: tuple[Answers, ...] | None = None

    @cached_property
    def trials(self) -> list[int]:
        """The numbers of its trials, made once: they are asked for with every trial that is tried."""
        return [n for block in self.members for n in block]


class _Balancer:
    def __init__(
        self,
        paradigm: Paradigm,
        seed: int,
        design: SessionDesign,
        planned: Sequence[PlannedTrial],
        generator: Generator,
    ) -> None:
        self.paradigm, self.seed, self.design, self.planned = paradigm, seed, design, planned
        self.generator: Generator = generator
        self.random = stream(paradigm.name, seed, "balance")
        self.index = 0
        self.found: dict[int, int] = {}
        self.probed: dict[int, list[tuple[int, Chosen, Answers]]] = defaultdict(list)
        self.cells = list(self._cells())

    def result(self) -> list[PlannedTrial]:
        chosen = self._dealt_factors()
        if ANSWER in self.design.balance and all(self._probe(number, cell) for number, cell in enumerate(self.cells)):
            answers = self._grown()
            self._pair(chosen, answers)
            self._match(chosen, answers)
        elif self.design.of_answers:
            self._one_by_one(chosen)
        else:
            self._match(chosen, dict.fromkeys(range(len(self.planned)), ()))
        return [replace(trial, seed=self.found[n]) for n, trial in enumerate(self.planned)]

    # -- what there is -----------------------------------------------------------------------------

    def _cells(self) -> Iterator[_Cell]:
        numbers: dict[str, dict[int, list[int]]] = {}
        for n, trial in enumerate(self.planned):
            numbers.setdefault(canonical(dict(trial.levels)), defaultdict(list))[trial.block].append(n)
        for blocks in numbers.values():
            levels = self.planned[next(iter(blocks.values()))[0]].levels
            # Crossed levels are balanced already, those of random factors that were chosen for the
            # session, too.
            factors = {
                name: self.paradigm.factors[name].levels
                for name in self.design.balance
                if name != ANSWER and name not in levels and self.paradigm.factors[name].mode == "random"
            }
            yield _Cell(levels, list(blocks.values()), factors)

    def _candidate(self, cell: _Cell) -> tuple[int, Chosen]:
        """The next seed, and the levels that it gives to balanced factors."""
        seed = trial_seed("session", self.seed, self.index)
        self.index += 1
        if not cell.factors:
            return seed, ()
        levels = resolve_levels(self.paradigm, cell.levels, seed)
        return seed, tuple(levels[name] for name in cell.factors)

    def _answers(self, cell: _Cell, seed: int) -> Answers:
        return answers_of(self.paradigm, cell.levels, seed, self.generator, self.design.question)

    def _probe(self, number: int, cell: _Cell) -> bool:
        """Return whether the trials of a cell always have the same few questions."""
        question_options: set[tuple[Answers, ...]] = set()
        for _ in range(_PROBES):
            seed, chosen = self._candidate(cell)
            steps = asking_steps(self.paradigm, cell.levels, seed, self.generator, self.design.question)
            question_options.add(
                tuple(
                    self._options(step.ask.kind.build(names))
                    for step, names in steps
                    if step.ask is not None and step.ask.kind is not None
                )
            )
            self.probed[number].append(
                (seed, chosen, tuple(step.ask.answer(names) for step, names in steps if step.ask is not None))
            )
        if len({len(options) for options in question_options}) == 1 and len(question_options) > 1:
            raise BalanceError(self.paradigm.name, "balance", _CHANGING)
        cell.options = next(iter(question_options)) if len(question_options) == 1 else None
        ways = math.prod(len(options) for options in cell.options or ()) * math.prod(map(len, cell.factors.values()))
        return cell.options is not None and ways <= _MOST_KINDS

    def _options(self, kind: Any) -> Answers:
        options = tuple(kind.parse(written) for written in kind.written_answers())
        if not options:
            raise BalanceError(
                self.paradigm.name, "balance", f"the answers of '{kind.name}' are too many to come equally often"
            )
        return options

    # -- what is wished ----------------------------------------------------------------------------

    def _dealt_factors(self) -> dict[int, list[Any]]:
        """Levels of the balanced random factors for every trial: in each cell, in each block of it
        and over the session as evenly as possible."""
        chosen: dict[int, list[Any]] = {n: [] for n in range(len(self.planned))}
        for name in dict.fromkeys(name for cell in self.cells for name in cell.factors):
            having = [cell for cell in self.cells if name in cell.factors]
            levels = self.paradigm.factors[name].levels
            for cell, counts in zip(
                having, dealt(self.random, [len(cell.trials) for cell in having], len(levels)), strict=True
            ):
                for block, share in zip(
                    cell.members, spread(self.random, counts, [len(block) for block in cell.members]), strict=True
                ):
                    for n, level in zip(block, shuffled(self.random, share), strict=True):
                        chosen[n].append(levels[level])
        return chosen

    def _grown(self) -> dict[int, Answers]:
        """Correct answers for every trial."""
        for _ in range(_DEALT):
            decks: dict[tuple[int, int, int], list[int]] = {}
            hands = self._hands(decks)
            for _ in range(_GROWN):
                answers = self._grow_once(hands, {deck: list(counts) for deck, counts in decks.items()})
                if answers is not None:
                    return answers
        raise BalanceError(
            self.paradigm.name,
            "max_run",
            f"no order with at most {self.design.run_of_answers} of the same answer in a row was found; allow longer"
            " runs, or run more trials",
        )

    def _hands(self, decks: dict[tuple[int, int, int], list[int]]) -> list[tuple[int, tuple[int, int, int], Answers]]:
        """All questions of the session in order, each with its trial, its deck and the allowed
        answers; ``decks`` gets how often each answer is to come."""
        by_options: dict[Answers, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, cell in enumerate(self.cells):
            for place, options in enumerate(cell.options or ()):
                by_options[options][number].append(place)
        for options, having in by_options.items():
            sizes = [len(self.cells[number].trials) * len(places) for number, places in having.items()]
            for (number, places), in_cell in zip(having.items(), dealt(self.random, sizes, len(options)), strict=True):
                cell = self.cells[number]
                for place, counts in zip(
                    places, spread(self.random, in_cell, [len(cell.trials)] * len(places)), strict=True
                ):
                    for block, share in enumerate(
                        spread(self.random, counts, [len(members) for members in cell.members])
                    ):
                        decks[number, place, block] = share
        where = {
            n: (number, block)
            for number, cell in enumerate(self.cells)
            for block, members in enumerate(cell.members)
            for n in members
        }
        return [
            (n, (number, place, block), options)
            for n, (number, block) in sorted(where.items())
            for place, options in enumerate(self.cells[number].options or ())
        ]

    def _grow_once(
        self, hands: Sequence[tuple[int, tuple[int, int, int], Answers]], left: dict[tuple[int, int, int], list[int]]
    ) -> dict[int, Answers] | None:
        most = self.design.run_of_answers or len(hands)
        dealt: list[Any] = []
        earlier: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        run = 0
        for at, (_, deck, options) in enumerate(hands):
            counts = left[deck]
            last = dealt[-1] if dealt else None
            open_ = [n for n, option in enumerate(options) if counts[n] and not (run == most and option == last)]
            if open_:
                drawn = open_[int(self.random.randint(len(open_)))] if len(open_) > 1 else open_[0]
                counts[drawn] -= 1
                dealt.append(options[drawn])
            else:
                # The deck has nothing left but the answer whose run is as long as it may be: an
                # earlier trial of the deck changes places with this one.
                drawn = next(n for n, option in enumerate(options) if counts[n] and option == last)
                counts[drawn] -= 1
                if not self._exchanged(dealt, earlier[deck], options[drawn], most):
                    return None
            earlier[deck].append(at)
            run = run + 1 if dealt[-1] == last and at else 1
            if not open_:
                run = run_at_end(dealt)
        answers: dict[int, list[Any]] = {n: [] for n in range(len(self.planned))}
        for (n, _, _), answer in zip(hands, dealt, strict=True):
            answers[n].append(answer)
        return {n: tuple(of_trial) for n, of_trial in answers.items()}

    def _exchanged(self, dealt: list[Any], places: Sequence[int], answer: Any, most: int) -> bool:
        """Give ``answer`` to an earlier question of the same deck, and what that one had to the
        last; whether that was possible without a run too long."""
        for turn in self.random.permutation(len(places)):
            place = places[int(turn)]
            other = dealt[place]
            if other == answer:
                continue
            dealt[place] = answer
            dealt.append(other)
            if run_around(dealt, place) <= most and run_around(dealt, len(dealt) - 1) <= most:
                return True
            dealt.pop()
            dealt[place] = other
        return False

    def _pair(self, chosen: dict[int, list[Any]], answers: Mapping[int, Answers]) -> None:
        """Share out the levels of random factors evenly over the answers, where trials have one
        question."""
        for cell in (one for one in self.cells if len(one.options or ()) == 1):
            for place, name in enumerate(cell.factors):
                levels = self.paradigm.factors[name].levels
                for block in cell.members:
                    groups = list(grouped((answers[n], n) for n in block).values())
                    counts = Counter(chosen[n][place] for n in block)
                    for group, share in zip(
                        groups,
                        spread(self.random, [counts[level] for level in levels], [len(group) for group in groups]),
                        strict=True,
                    ):
                        for n, level in zip(group, shuffled(self.random, share), strict=True):
                            chosen[n][place] = levels[level]

    # -- seeds -------------------------------------------------------------------------------------

    def _match(self, chosen: Mapping[int, Sequence[Any]], answers: Mapping[int, Answers]) -> None:
        """Find a seed for every trial that has what the trial is to have."""
        for number, cell in enumerate(self.cells):
            waiting = grouped(((tuple(chosen[n]), answers[n]), n) for n in cell.trials)
            useful = {levels for levels, _ in waiting}
            ways = math.prod(len(options) for options in cell.options or ()) * math.prod(
                map(len, cell.factors.values())
            )
            probed, tries = iter(self.probed.get(number, ())), 0
            while waiting:
                if tries > _PER_KIND * ways + 50 * len(cell.trials):
                    raise BalanceError(self.paradigm.name, "balance", self._missing(cell, next(iter(waiting)), tries))
                tries += 1
                seed, levels, got = next(probed, None) or (*self._candidate(cell), None)
                if levels not in useful:
                    continue
                if got is None:
                    got = self._answers(cell, seed) if self.design.of_answers else ()
                trials = waiting.get((levels, got))
                if trials:
                    self.found[trials.pop(0)] = seed
                    if not trials:
                        del waiting[levels, got]

    def _missing(self, cell: _Cell, kind: tuple[Chosen, Answers], tries: int) -> str:
        levels = dict(zip(cell.factors, kind[0], strict=True))
        at = ", ".join(f"{name} = {level}" for name, level in {**cell.levels, **levels}.items())
        having = f" with the answer {listed(kind[1])}" if kind[1] else ""
        return (
            f"among {tries} trials{f' ({at})' if at else ''} there was none{having}, so it cannot come as often as"
            " others"
        )

    def _one_by_one(self, chosen: Mapping[int, Sequence[Any]]) -> None:
        """Choose whole trials in their order, so that no run of answers becomes too long, and
        answers come equally often if that is wished."""
        even = ANSWER in self.design.balance
        most = self.design.run_of_answers
        where = {n: number for number, cell in enumerate(self.cells) for n in cell.trials}
        left = [len(cell.trials) for cell in self.cells]
        counts: list[Counter[Any]] = [Counter() for _ in self.cells]
        finished: Counter[Any] = Counter()
        offered: dict[int, Answers] = {}
        tail: list[Any] = []
        for n in range(len(self.planned)):
            number = where[n]
            cell = self.cells[number]
            left[number] -= 1
            for _ in range(_PER_TRIAL):
                seed, levels = self._candidate(cell)
                if levels != tuple(chosen[n]):
                    continue
                steps = asking_steps(self.paradigm, cell.levels, seed, self.generator, self.design.question)
                got = tuple(step.ask.answer(names) for step, names in steps if step.ask is not None)
                if number not in offered:
                    offered[number] = self._options_of(steps)
                options = offered[number]
                if most is not None and not self._fits(tail, got, most, len(options)):
                    continue
                if even and set(options) != set(self._options_of(steps)):
                    raise BalanceError(self.paradigm.name, "balance", _CHANGING)
                sum_ = counts[number] + Counter(got)
                if even and not _even(sum_, options, left[number] * len(got), finished):
                    continue
                break
            else:
                raise BalanceError(
                    self.paradigm.name, "balance" if even else "max_run", self._no_trial(cell, even, most)
                )
            self.found[n], counts[number] = seed, sum_
            tail = [*tail, *got][-max(most or 0, 1) :]
            if left[number] == 0:
                finished += sum_

    def _options_of(self, steps: Sequence[Any]) -> Answers:
        """All answers that the questions of a trial allow."""
        return tuple(
            dict.fromkeys(answer for step, names in steps for answer in self._options(step.ask.kind.build(names)))
        )

    def _fits(self, tail: Sequence[Any], got: Answers, most: int, options: int) -> bool:
        """Return whether the answers continue without too long a run. Of those that do, some are
        left out by chance: what is left is as if each answer had been drawn by itself, and another
        one only where the run is as long as it may be. Otherwise answers would change more often,
        which can be foreseen."""
        run, last, forced = run_at_end(tail), tail[-1] if tail else None, 0
        for answer in got:
            if run == most:
                if answer == last:
                    return False
                forced += 1
            run = run + 1 if answer == last and run else 1
            last = answer
        bound = min((len(got) + most - 1) // most, _FORCED) if len(got) > 1 else forced
        return bound == forced or float(self.random.random_sample()) < (options / max(options - 1, 1)) ** (
            min(forced, bound) - bound
        )

    def _no_trial(self, cell: _Cell, even: bool, most: int | None) -> str:
        at = ", ".join(f"{name} = {show(level)}" for name, level in cell.levels.items())
        wish = " and ".join(
            [
                *(["equally many of each answer"] if even else []),
                *([f"at most {most} of the same answer in a row"] if most is not None else []),
            ]
        )
        return f"among {_PER_TRIAL} trials{f' ({at})' if at else ''} there was none that gives {wish}; wish for less"


def _even(counts: Mapping[Any, int], options: Answers, to_come: int, finished: Mapping[Any, int]) -> bool:
    """Return whether the counts of a cell are even enough: able to level out before its end, and at
    its end within one, also with those of finished cells."""
    values = [counts.get(option, 0) for option in options]
    apart = max(values) - min(values)
    if to_come:
        return apart <= 1 + math.sqrt(to_come)
    together = [counts.get(option, 0) + finished.get(option, 0) for option in options]
    return apart <= 1 and max(together) - min(together) <= 1


def run_at_end(answers: Sequence[Any]) -> int:
    """Return the length of the run of equal values at the end."""
    return run_around(answers, len(answers) - 1) if answers else 0


def run_around(answers: Sequence[Any], place: int) -> int:
    """The length of the run that a place lies in."""
    first = last = place
    while first and answers[first - 1] == answers[place]:
        first -= 1
    while last + 1 < len(answers) and answers[last + 1] == answers[place]:
        last += 1
    return last - first + 1


def dealt(random: np.random.RandomState, sizes: Sequence[int], kinds: int) -> list[list[int]]:
    """Distribute kinds over groups of these sizes, evenly in each group and in all groups together:
    counts differ by at most one."""
    deck: list[int] = []
    counts: list[list[int]] = []
    for size in sizes:
        base, more = divmod(size, kinds)
        hand: list[int] = []
        while len(hand) < more:
            if not deck:
                # A new deck begins with kinds that the hand does not have.
                order = [int(n) for n in random.permutation(kinds)]
                deck = [n for n in order if n not in hand] + [n for n in order if n in hand]
            hand.append(deck.pop(0))
        counts.append([base + (kind in hand) for kind in range(kinds)])
    return counts


def spread(random: np.random.RandomState, counts: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Share things of several kinds out over groups, so that each group has them as evenly as
    possible.

    Parameters
    ----------
    counts : of each kind; no two differ by more than one
    sizes : of the groups; together as many as there are things
    """
    kinds = len(counts)
    more = [count - sum(size // kinds for size in sizes) for count in counts]
    shares: list[list[int]] = []
    for size in sizes:
        base, rest = divmod(size, kinds)
        order = sorted((int(n) for n in random.permutation(kinds)), key=lambda kind: -more[kind])
        for kind in order[:rest]:
            more[kind] -= 1
        shares.append([base + (kind in order[:rest]) for kind in range(kinds)])
    return shares


def shuffled(random: np.random.RandomState, counts: Sequence[int]) -> list[int]:
    """So many of each kind, in random order."""
    cards = [kind for kind, count in enumerate(counts) for _ in range(count)]
    return [cards[int(n)] for n in random.permutation(len(cards))]
