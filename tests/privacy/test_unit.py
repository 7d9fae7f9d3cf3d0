"""The unit of privacy: what it says of itself, and that nothing is planned for one without proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import compose
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.unit import PRESENCE, RECORD, USER, Unit, check_proved
from pcqr.releases.words import promise


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("household",), "kind"),
        (("record", 1), "rows"),
        (("user", 0), "rows"),
        (("user", 2.0), "rows"),
        (("user", True), "rows"),
    ],
)
def test_units_that_mean_nothing_are_refused(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Unit(*arguments)
    assert caught.value.name == name


def test_a_unit_says_what_neighbours_differ_in() -> None:
    assert Unit("record") == RECORD
    assert RECORD.adjacency == "replace one record"
    assert Unit.user(5).adjacency == "replace one person, who has at most 5 rows"
    assert Unit.user(1).adjacency == "replace one person, who has at most 1 row"
    assert Unit.user(np.int64(5)) == Unit.user(5)  # type: ignore[arg-type]
    assert type(Unit.user(np.int64(5)).rows) is int  # type: ignore[arg-type]


def test_one_person_with_one_row_is_still_another_unit() -> None:
    """Neighbours are the same; nobody has checked yet that each row is another person."""
    check_proved(RECORD)
    for rows in (1, 5):
        assert Unit.user(rows) != RECORD
        with pytest.raises(ParameterError, match=r"^unit must be RECORD, the only unit .* for which pcqr has proofs"):
            check_proved(Unit.user(rows))


def test_a_person_with_any_number_of_rows_is_one_with_a_bounded_number_too() -> None:
    assert Unit("user") == USER
    assert USER.adjacency == "replace one person, with all rows"
    assert USER.revealed == "all rows of some persons"
    assert USER.implies(USER)
    assert USER.implies(Unit.user(3))
    assert Unit.user(3).implies(Unit.user(3))
    for first, second in ((Unit.user(3), USER), (Unit.user(3), Unit.user(2)), (USER, RECORD)):
        assert not first.implies(second)
    assert not RECORD.implies(USER)
    assert not PRESENCE.implies(USER)


def test_what_holds_for_records_that_were_persons_holds_for_persons() -> None:
    about = Guarantee(1.0, 1e-6).at_user_level("n counts persons")
    assert (about.unit, about.epsilon, about.delta, about.steps) == (USER, 1.0, 1e-6, ("n counts persons",))
    assert promise(about, 1_000).startswith(
        "If all rows of any one of the 1,000 persons were different, no set of outcomes"
    )
    for other in (about, Guarantee(1.0, unit=PRESENCE)):
        with pytest.raises(ParameterError, match="only unit"):
            other.at_user_level("again")
    with pytest.raises(ParameterError, match="same unit"):
        about.compose(Guarantee(1.0))


def test_presence_is_less_than_a_record_and_says_so() -> None:
    """Whoever may be replaced by any other is removed, and another one added."""
    assert Unit("presence") == PRESENCE
    assert PRESENCE != RECORD
    assert PRESENCE.adjacency == "REMOVE OR ADD one record, which is less than to replace one"
    assert (RECORD.change, PRESENCE.change, Unit.user(2).change) == ("different", "removed", "different")
    with pytest.raises(ParameterError):
        Unit("presence", 2)
    with pytest.raises(ParameterError, match="only unit"):
        check_proved(PRESENCE)
    check_proved(PRESENCE, PRESENCE)
    about_presence = Guarantee(1.0, unit=PRESENCE)
    for others in ((Guarantee(1.0), about_presence), (about_presence, Guarantee(1.0))):
        with pytest.raises(ParameterError, match="same unit"):
            others[0].compose(others[1])
    with pytest.raises(ParameterError, match="all about 'replace one record'"):
        compose([about_presence], 1e-6)
    with pytest.raises(ParameterError):
        about_presence.amplify(0.5)
    assert about_presence.compose(about_presence).unit == PRESENCE
    assert "REMOVE OR ADD" in str(about_presence)
    assert promise(about_presence, 1_000).startswith("If any one of the 1,000 private records were removed, no outcome")
