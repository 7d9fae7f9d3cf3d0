"""The algebra of guarantees: never too small, consistent with itself."""

from __future__ import annotations

import decimal
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError, WeakGuarantee
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.privacy.guarantee import Guarantee, amplified, positive, rounded_text, rounded_up, unamplified, warn_if_weak
from pcqr.privacy.unit import PRESENCE, RECORD, USER, Unit
from pcqr.releases.words import promise

epsilons = st.floats(1e-6, 60.0)
rates = st.floats(1e-6, 1.0)
deltas = st.floats(0.0, 1e-3)
guarantees = st.builds(Guarantee, epsilons, deltas)
units = st.just(RECORD) | st.builds(Unit.user, st.integers(1, 3))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "delta": -1e-9}, "delta"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta"),
        ({"epsilon": 1.0, "unit": "replace one record"}, "unit"),
    ],
)
def test_figures_that_mean_nothing_are_refused(arguments: dict[str, float], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Guarantee(**arguments)  # type: ignore[arg-type]
    assert caught.value.name == name


@given(st.lists(guarantees, min_size=1, max_size=5))
def test_composition_never_understates_the_exact_sum(parts: list[Guarantee]) -> None:
    whole = parts[0].compose(*parts[1:], proof="sum")
    assert Fraction(whole.epsilon) >= sum(Fraction(part.epsilon) for part in parts)
    assert Fraction(whole.delta) >= sum(Fraction(part.delta) for part in parts)
    assert whole.epsilon <= math.fsum(part.epsilon for part in parts) * (1 + 1e-11)


def test_composition_keeps_assumptions_once_and_privacy_only_if_all_have_it() -> None:
    first, second = Guarantee(1.0).assuming("n", "bounds"), Guarantee(2.0).assuming("bounds", "columns")
    both = first.compose(second)
    assert both.assumptions == ("n", "bounds", "columns")
    assert both.is_private
    assert not both.compose(Guarantee(0.1).drawn_with(private_entropy=False)).is_private
    assert not Guarantee(1.0).drawn_with(private_entropy=False).drawn_with(private_entropy=True).is_private


@given(guarantees, rates)
def test_amplification_helps_and_can_be_undone(inner: Guarantee, rate: float) -> None:
    outer = inner.amplify(rate)
    assert outer.epsilon <= rounded_up(inner.epsilon)
    assert outer.delta <= positive(rounded_up(inner.delta))
    assert unamplified(amplified(inner.epsilon, rate), rate) == pytest.approx(inner.epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 10.0, 600.0, 699.0, 700.0, 705.0, 720.0])
@pytest.mark.parametrize("rate", [1e-306, 1e-304, 1e-300, 1e-3, 0.5])
def test_amplification_against_sixty_digits_also_where_exponentials_overflow(epsilon: float, rate: float) -> None:
    with decimal.localcontext(decimal.Context(prec=400)):
        q, grown = decimal.Decimal(rate), decimal.Decimal(epsilon).exp() - 1
        outer, inner = (1 + q * grown).ln(), (1 + grown / q).ln()
    assert amplified(epsilon, rate) == pytest.approx(float(outer), rel=1e-12, abs=1e-15 * epsilon)
    assert unamplified(epsilon, rate) == pytest.approx(float(inner), rel=1e-12)


@pytest.mark.parametrize(("target", "rate"), [(0.5, 0.2), (0.01, 1e-5), (1.0, 1e-12), (40.0, 0.5), (2.0, 1.0)])
def test_what_may_be_spent_on_a_sub_sample_meets_the_target_and_no_more_does(target: float, rate: float) -> None:
    inner = unamplified(target, rate)
    assert inner >= target
    assert amplified(inner, rate) == pytest.approx(target, rel=1e-12)
    assert amplified(inner * 1.001, rate) > target


@given(st.lists(st.tuples(guarantees, units), min_size=2, max_size=4))
def test_guarantees_about_different_units_do_not_add_up(parts: list[tuple[Guarantee, Unit]]) -> None:
    first, *others = (replace(part, unit=unit) for part, unit in parts)
    if len({unit for _, unit in parts}) == 1:
        assert first.compose(*others).unit == first.unit
    else:
        with pytest.raises(ParameterError, match=f"about the same unit, '{first.adjacency}'"):
            first.compose(*others)


@given(guarantees, units, st.integers(1, 3))
def test_whatever_else_is_done_to_a_guarantee_keeps_its_unit(part: Guarantee, unit: Unit, size: int) -> None:
    one = replace(part, epsilon=min(part.epsilon, 1.0), unit=unit)
    seeded = one.drawn_with(private_entropy=False)
    for kept in (one.compose(), one.group(size), *one.split(0.5, 0.5), one.assuming("n"), one.explained("why"), seeded):
        assert kept.unit == unit
        assert f"under '{unit.adjacency}'" in str(kept)


@given(guarantees, rates)
def test_a_sample_of_rows_amplifies_for_records_alone(part: Guarantee, rate: float) -> None:
    """With g rows somebody is in a sample with a chance above q: nothing is proved for persons."""
    assert part.amplify(rate).unit == RECORD
    with pytest.raises(ParameterError, match="unit"):
        replace(part, unit=Unit.user(2)).amplify(rate)


def test_caveats_speak_of_the_unit() -> None:
    weak = Guarantee(1000.0, 0.5)
    assert "the odds about a record" in str(weak)
    assert "showing whole records" in str(weak)
    user = str(replace(weak, unit=Unit.user(5)))
    assert "the odds about a person" in user
    assert "showing all rows of some persons" in user


def test_a_split_composes_to_the_whole() -> None:
    whole = Guarantee(2.0, 1e-6)
    first, second = whole.split(0.75, 0.25)
    assert first.delta == pytest.approx(1e-6)
    assert second.is_pure
    assert first.compose(second).within(2.0, 1e-6)
    assert first.compose(second).epsilon == pytest.approx(2.0, rel=1e-11)
    for bad in ((), (0.5, 0.6), (1.0, 0.0)):
        with pytest.raises(ParameterError, match="shares"):
            whole.split(*bad)


def test_within_and_wording() -> None:
    assert Guarantee(1.0, 1e-7).within(1.0, 1e-6)
    assert not Guarantee(1.0 + 1e-9, 0.0).within(1.0, 1e-6)
    assert not Guarantee(0.5, 1e-5).within(1.0, 1e-6)
    assert Guarantee(0.0).is_pure
    assert str(Guarantee(1.0)) == "pure differential privacy with ε = 1 under 'replace one record'"
    assert "δ = 1e-06" in str(Guarantee(1.0, 1e-6))
    assert str(Guarantee(1.0).drawn_with(private_entropy=False)).startswith("NOT PRIVATE")


@pytest.mark.parametrize(
    ("guarantee", "records", "said"),
    [
        (Guarantee(10.0, 1e-6), 10_000, ()),
        (Guarantee(0.1, 9.99e-4), None, ()),
        (Guarantee(0.1, 9.9e-4), 1_000, ()),
        (Guarantee(1000.0), None, ("ε = 1000 ",)),
        (Guarantee(10.1), 50, ("factor of e^10.1.",)),
        (Guarantee(1.0, 0.5), None, ("δ = 0.5 is large: ",)),
        (Guarantee(1.0, 1e-4), 10_000, ("1/n for n = 10,000: ",)),
        (Guarantee(800.0, 2.0**-7), 10, ("ε = 800 ", "δ = 0.00782 is large: ")),
    ],
)
def test_figures_that_say_little_get_a_sentence_each(
    guarantee: Guarantee, records: int | None, said: tuple[str, ...]
) -> None:
    caveats = guarantee.caveats(records)
    assert len(caveats) == len(said)
    for caveat, part in zip(caveats, said, strict=True):
        assert part in caveat
        assert caveat.endswith(".")
    assert all(caveat in str(guarantee) for caveat in guarantee.caveats())
    assert all(caveat in promise(guarantee, 10_000) for caveat in guarantee.caveats(10_000))


def test_a_weak_guarantee_is_warned_of_once_and_an_ordinary_one_is_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_weak(Guarantee(1.0, 1e-6), 1_000)
    with pytest.warns(WeakGuarantee) as caught:
        warn_if_weak(Guarantee(1000.0, 0.5), 1_000)
    (warning,) = caught
    assert "ε = 1000 " in str(warning.message)
    assert "δ = 0.5 " in str(warning.message)


def test_a_delta_that_underflows_is_not_called_pure() -> None:
    assert not Guarantee(1.0, 5e-324).amplify(0.01).is_pure
    assert not OneSidedSparseVector.calibrate(5000.0, 1e-6, 1).guarantee.is_pure


@given(st.floats(1e-300, 1e300), st.integers(1, 12))
def test_what_is_shown_is_never_less(value: float, digits: int) -> None:
    shown = float(rounded_text(value, digits))
    assert value <= shown <= value * (1.0 + 1.01 * 10.0 ** (1 - digits))


@pytest.mark.parametrize("known", [{}, {"is_charged": False}, {"rho": 0.25}, {"is_charged": True, "rho": 0.5}])
def test_the_facts_of_a_guarantee_are_read_back(known: dict[str, Any]) -> None:
    stated = replace(Guarantee(1.0, 1e-6, "plans", ("kinds are public",), steps=("a draw",)), **known)
    facts = stated.facts()
    assert known.items() <= facts.items()
    assert len(facts) == 7 + len(known)
    assert Guarantee.from_facts(facts, "guarantee") == stated
    with pytest.raises(ParameterError, match="guarantee"):
        Guarantee.from_facts(facts | {"luck": 1}, "guarantee")


def test_a_guarantee_says_whether_an_account_paid_and_a_seeded_one_pays_nothing() -> None:
    stated = Guarantee(1.0, 1e-6)
    assert stated.is_charged is None
    assert stated.memory() == ()
    for paid in (True, False):
        found = stated.charged(to_account=paid)
        assert found == replace(stated, is_charged=paid)
        assert ("charged to an account" in found.memory()[0]) is paid
        seeded = stated.drawn_with(private_entropy=False)
        assert seeded.charged(to_account=paid) == seeded


@pytest.mark.parametrize("unit", [PRESENCE, USER, Unit.user(2)])
def test_what_was_proved_for_records_alone_becomes_a_guarantee_about_persons(unit: Unit) -> None:
    """Of a record that is removed only, or of a person with few rows, the same figures say too little."""
    found = Guarantee(1.0, 1e-6).at_user_level("one row of each")
    assert (found.unit, found.epsilon, found.delta) == (USER, 1.0, 1e-6)
    assert found.steps[-1] == "one row of each"
    with pytest.raises(ParameterError, match="unit"):
        Guarantee(1.0, 1e-6, unit=unit).at_user_level("one row of each")


def test_amplification_at_known_points() -> None:
    assert amplified(1.0, 0.1) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)), rel=1e-14)
    assert amplified(1e-12, 0.5) == pytest.approx(5e-13, rel=1e-9)
    assert amplified(1000.0, 0.5) == pytest.approx(1000.0 + math.log(0.5), rel=1e-14)
    assert amplified(29.999999, 0.3) == pytest.approx(amplified(30.000001, 0.3), abs=1e-5), "the two branches meet"
    assert Guarantee(1.0, 1e-6).amplify(1.0) == Guarantee(1.0, 1e-6)
    assert Guarantee(1.0, 1e-6).amplify(0.1).delta == pytest.approx(1e-7)


def test_the_text_carries_what_is_treated_as_public() -> None:
    read = "the names of the labels, read from y because `classes` was not declared"
    plain = str(Guarantee(1.0, 1e-6))
    assert str(Guarantee(1.0, 1e-6).assuming(read, "bounds")) == f"{plain}. Treated as public: {read}; bounds."
    seeded = str(Guarantee(1.0).assuming(read).drawn_with(private_entropy=False))
    assert seeded.startswith("NOT PRIVATE")
    assert read in seeded


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [(True, True, True), (True, False, False), (False, None, False), (True, None, None), (None, None, None)],
)
def test_two_releases_are_charged_where_both_are(first: bool | None, second: bool | None, both: bool | None) -> None:
    one, other = (replace(Guarantee(1.0), is_charged=charged) for charged in (first, second))
    assert one.compose(other).is_charged is both
    assert other.compose(one).is_charged is both


def test_zcdp_parameters_add_up_and_are_never_rounded_down() -> None:
    one, little = (replace(Guarantee(1.0), rho=rho) for rho in (1.0, 1e-17))
    found = one.compose(little).rho
    assert found is not None
    assert Fraction(found) >= 1 + Fraction(1e-17)
    assert found == pytest.approx(1.0, rel=1e-9)
    assert one.compose(Guarantee(1.0)).rho is None
