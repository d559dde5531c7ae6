"""Orders of the parts of a study: balanced where they claim to be, and the same every time."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlab.sessions.studies.schema import order_of, williams

PARTS = range(1, 13)


@pytest.mark.parametrize("parts", PARTS)
def test_every_part_stands_equally_often_at_every_position(parts: int) -> None:
    rows = williams(parts)
    assert len(rows) == (parts if parts % 2 == 0 or parts == 1 else 2 * parts)
    assert all(sorted(row) == list(range(parts)) for row in rows)
    places = Counter((position, part) for row in rows for position, part in enumerate(row))
    assert set(places.values()) == {len(rows) // parts}
    assert len(places) == parts**2


@pytest.mark.parametrize("parts", PARTS)
def test_every_part_follows_every_other_one_equally_often(parts: int) -> None:
    followed = Counter(pair for row in williams(parts) for pair in itertools.pairwise(row))
    assert set(followed) == set(itertools.permutations(range(parts), 2))
    assert set(followed.values()) <= {1 if parts % 2 == 0 else 2}


@given(parts=st.integers(1, 9), first=st.integers(1, 500), session=st.integers(1, 9))
def test_as_many_participants_as_rows_make_a_whole_square(parts: int, first: int, session: int) -> None:
    rows = williams(parts)
    taken = [order_of("latin_square", parts, "s", number, session, 1) for number in range(first, first + len(rows))]
    assert sorted(taken) == sorted(rows)


@given(parts=st.integers(1, 9), number=st.integers(1, 500), session=st.integers(1, 9), seed=st.integers(0, 1000))
def test_a_shuffled_order_is_an_order_and_the_same_every_time(parts: int, number: int, session: int, seed: int) -> None:
    one = order_of("shuffled", parts, "s", number, session, seed)
    assert sorted(one) == list(range(parts))
    assert one == order_of("shuffled", parts, "s", number, session, seed)
    assert order_of("fixed", parts, "s", number, session, seed) == list(range(parts))


def test_shuffled_orders_differ_between_people_sessions_studies_and_seeds_and_are_even() -> None:
    orders = Counter(tuple(order_of("shuffled", 3, "s", number, 1, 1)) for number in range(1, 1201))
    assert len(orders) == 6
    # chi square of six equally likely orders: 5 degrees of freedom, 20.5 is exceeded once in a
    # thousand
    assert sum((many - 200) ** 2 / 200 for many in orders.values()) < 20.5
    first = [order_of("shuffled", 6, "s", number, 1, 1) for number in range(1, 20)]
    for other in (("s", 2, 1), ("t", 1, 1), ("s", 1, 2)):
        name, session, seed = other
        assert first != [order_of("shuffled", 6, name, number, session, seed) for number in range(1, 20)]
