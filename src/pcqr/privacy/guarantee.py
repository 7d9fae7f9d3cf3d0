"""What is promised: (ε, δ) for one unit of privacy, and the algebra that combines promises about the same unit.

Neighbours are two tables of the same public size n that differ in one unit (`pcqr.privacy.unit`): in one record,
wherever something is proved. All figures are rounded up by a relative 10⁻¹² after each step, which covers the float64
error of the few operations behind it; a guarantee is therefore never stated too small.
"""

from __future__ import annotations

import decimal
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pcqr.checks import keep_plain
from pcqr.errors import ParameterError, WeakGuarantee
from pcqr.privacy.unit import RECORD, USER, Unit, check_proved
from pcqr.serialization import Document
from pcqr.serialization.codec import later
from pcqr.serialization.reading import read_flag, read_list, read_number, read_object, read_text

ROUNDING = 1e-12
_LARGEST_EXPONENT = 700.0  # e^700 is a float64

WEAK_EPSILON = 10.0
"""Above this ε odds may change more than 22,000-fold: such a figure protects nobody by itself."""

WEAK_DELTA = 1e-3
"""From this δ on a guarantee says little whatever n is; where n is known, from 1/n on."""

COPY = "the copy adopted on "
"""The beginning of an assumption about an adopted copy."""


def rounded_up(value: float) -> float:
    """`value` enlarged by the relative margin that covers float64 arithmetic in this module."""
    return value * (1.0 + ROUNDING)


def positive(probability: float) -> float:
    """`probability` as a stated δ: a positive chance that underflows is not zero, and δ = 0 means pure."""
    return max(probability, sys.float_info.min)


@dataclass(frozen=True)
class Guarantee(Document):
    """(ε, δ)-differential privacy: P[M(S) ∈ O] ≤ e^ε · P[M(S') ∈ O] + δ for all neighbours S, S' and all sets O of
    outputs.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    delta : float, default 0.0
        δ, at least 0 and below 1. At 0 the guarantee is pure.
    proof : str, default ""
        The note in `proofs/` that proves it.
    assumptions : tuple of str, default ()
        What is treated as public knowledge, and what is assumed about adopted copies of its log.
    is_private : bool, default True
        False when the randomness was seeded: the figures then describe what an unseeded run gives.
    unit : Unit, default RECORD
        What neighbours differ in, and whom the guarantee protects.
    steps : tuple of str, default ()
        How the figures came about, one line a step.
    is_charged : bool or None, default None
        Was the release charged to an account (`pcqr.release.Account`)? None where nothing was drawn yet, or by a seed.
        It is no part of the promise: guarantees that differ in it alone are equal.
    rho : float or None, default None
        The zCDP parameter ρ of the release, rounded up, as proofs/account.md needs it. None: none is proved but ε²/2.

    Attributes
    ----------
    is_pure : bool
        Is δ = 0?
    adjacency : str
        What turns a table into a neighbour, in words.

    Raises
    ------
    ParameterError
        When ε or δ is outside its range, or the unit is none.

    Examples
    --------
    >>> from pcqr import Guarantee
    >>> first, second = Guarantee(0.5, 1e-7), Guarantee(0.25)
    >>> both = first.compose(second)
    >>> both.within(0.76, 1e-6)
    True
    >>> round(Guarantee(1.0).amplify(0.1).epsilon, 3)
    0.159
    """

    epsilon: float
    delta: float = 0.0
    proof: str = ""
    assumptions: tuple[str, ...] = ()
    is_private: bool = True
    unit: Unit = RECORD
    steps: tuple[str, ...] = ()
    is_charged: bool | None = later(None, compare=False)
    rho: float | None = later(None)

    def __post_init__(self) -> None:
        keep_plain(self, floats=("epsilon", "delta", "rho"))
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ParameterError("epsilon", "a finite number ≥ 0", self.epsilon)
        if not 0 <= self.delta < 1:
            raise ParameterError("delta", "a number in [0, 1)", self.delta)
        if not isinstance(self.unit, Unit):
            raise ParameterError("unit", "a Unit of pcqr.privacy.unit, such as RECORD", self.unit)
        if self.rho is not None and not (math.isfinite(self.rho) and self.rho >= 0):
            raise ParameterError("rho", "a finite number ≥ 0, or None", self.rho)

    @property
    def is_pure(self) -> bool:
        """Is δ = 0?"""
        return self.delta == 0.0

    @property
    def adjacency(self) -> str:
        """What turns a table into a neighbour, in words."""
        return self.unit.adjacency

    def facts(self) -> dict[str, Any]:
        """What is promised, by name, with the adjacency in words: as model files and the command line's JSON say it."""
        known = {"is_charged": self.is_charged, "rho": self.rho}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "proof": self.proof,
            "assumptions": list(self.assumptions),
            "is_private": self.is_private,
            "adjacency": self.adjacency,
            "steps": list(self.steps),
        } | {name: value for name, value in known.items() if value is not None}

    @classmethod
    def from_facts(cls, value: object, where: str) -> Guarantee:
        """Return what `facts` described, about records or persons. Refuse anything else, and say `where`."""
        keys = ("epsilon", "delta", "proof", "assumptions", "is_private", "adjacency", "steps")
        known = [key for key in ("is_charged", "rho") if isinstance(value, dict) and key in value]
        entries = read_object(value, where, (*keys, *known))
        adjacency = read_text(entries["adjacency"], f"{where}.adjacency")
        units = {unit.adjacency: unit for unit in (RECORD, USER)}
        if adjacency not in units:
            raise ParameterError(f"{where}.adjacency", f"one of {', '.join(map(repr, units))}", adjacency)

        def texts(key: str) -> tuple[str, ...]:
            listed = read_list(entries[key], f"{where}.{key}")
            return tuple(read_text(entry, f"{where}.{key}[{i}]") for i, entry in enumerate(listed))

        return cls(
            epsilon=read_number(entries["epsilon"], f"{where}.epsilon"),
            delta=read_number(entries["delta"], f"{where}.delta"),
            proof=read_text(entries["proof"], f"{where}.proof"),
            assumptions=texts("assumptions"),
            is_private=read_flag(entries["is_private"], f"{where}.is_private"),
            unit=units[adjacency],
            steps=texts("steps"),
            is_charged=read_flag(entries["is_charged"], f"{where}.is_charged") if "is_charged" in known else None,
            rho=read_number(entries["rho"], f"{where}.rho") if "rho" in known else None,
        )

    def compose(self, *others: Guarantee, proof: str | None = None) -> Guarantee:
        """Basic composition, adaptive too: ε and δ add up [1]_. `pcqr.privacy.accounting.compose` is tighter for many
        releases.

        Parameters
        ----------
        *others : Guarantee
            About the same unit: one record's guarantee says nothing about a person, nor the other way round.
        proof : str, optional
            The note that proves the composition; None keeps this one's.

        Returns
        -------
        Guarantee
            Of all releases together.

        Raises
        ------
        ParameterError
            When the units differ.

        References
        ----------
        .. [1] C. Dwork, K. Kenthapadi, F. McSherry, I. Mironov, M. Naor. Our data, ourselves: privacy via distributed
           noise generation. EUROCRYPT 2006.
        """
        return reduce(_compose_two, others, self)._proved_by(proof)

    def amplify(self, rate: float, *, proof: str | None = None) -> Guarantee:
        """Run on a secret uniform sub-sample without replacement: ε ← ln(1 + q(e^ε − 1)), δ ← qδ [1]_ [2]_.

        For records alone: a sample of rows may hold some row of a person with a chance above q.

        Parameters
        ----------
        rate : float
            q, the share of the records that is drawn, above 0 and at most 1.
        proof : str, optional
            The note that proves it; None keeps this one's.

        Returns
        -------
        Guarantee
            For the whole table, of which the sample was secret.

        Raises
        ------
        ParameterError
            When the rate is outside its range, or the unit is not the record.

        References
        ----------
        .. [1] N. Li, W. Qardaji, D. Su. On sampling, anonymization, and differential privacy: or, k-anonymization meets
           differential privacy. ASIACCS 2012.
        .. [2] B. Balle, G. Barthe, M. Gaboardi. Privacy amplification by subsampling: tight analyses via couplings and
           divergences. NeurIPS 2018.
        """
        check_proved(self.unit)
        rate = float(rate)
        if not 0 < rate <= 1:
            raise ParameterError("rate", "a number in (0, 1]", rate)
        if rate == 1.0:
            return self._proved_by(proof)
        return replace(
            self,
            epsilon=rounded_up(amplified(self.epsilon, rate)),
            delta=0.0 if self.is_pure else positive(rounded_up(rate * self.delta)),
            rho=None,
            steps=(*self.steps, f"secret sub-sample of a share q = {rate:.6g}: ln(1 + q(e^ε − 1)), qδ"),
        )._proved_by(proof)

    def group(self, size: int, *, proof: str | None = None) -> Guarantee:
        """For tables that differ in several units: ε ← gε, δ ← δ·(e^{gε} − 1)/(e^ε − 1).

        Parameters
        ----------
        size : int
            g ≥ 1, how many units differ.
        proof : str, optional
            The note that proves it; None keeps this one's.

        Returns
        -------
        Guarantee

        Raises
        ------
        ParameterError
            When the size is below 1, or so large that δ overflows.
        """
        if size < 1:
            raise ParameterError("size", "an integer ≥ 1", size)
        if self.is_pure:
            return replace(self, epsilon=rounded_up(size * self.epsilon), rho=None)._proved_by(proof)
        if size * self.epsilon > _LARGEST_EXPONENT:
            raise ParameterError("size", f"at most {_LARGEST_EXPONENT / self.epsilon:.0f} at this ε", size)
        factor = math.expm1(size * self.epsilon) / math.expm1(self.epsilon) if self.epsilon > 0 else float(size)
        epsilon, delta = rounded_up(size * self.epsilon), rounded_up(self.delta * factor)
        return replace(self, epsilon=epsilon, delta=delta, rho=None)._proved_by(proof)

    def split(self, *shares: float) -> tuple[Guarantee, ...]:
        """Budgets that compose to this one: shares of ε, with all of δ given to the first.

        Parameters
        ----------
        *shares : float
            Positive numbers that sum to at most 1.

        Returns
        -------
        tuple of Guarantee
            One for each share.

        Raises
        ------
        ParameterError
            When the shares are not positive or sum to more than 1.
        """
        if not shares or any(s <= 0 for s in shares) or math.fsum(shares) > 1 + ROUNDING:
            raise ParameterError("shares", "positive numbers that sum to at most 1", shares)
        spare = (1.0 + ROUNDING) ** (len(shares) + 1)  # what composing them again rounds up
        return tuple(
            Guarantee(self.epsilon * float(share) / spare, self.delta / spare if i == 0 else 0.0, unit=self.unit)
            for i, share in enumerate(shares)
        )

    def within(self, epsilon: float, delta: float) -> bool:
        """Does this guarantee imply (ε, δ)?

        Parameters
        ----------
        epsilon, delta : float
            The figures to be kept to.

        Returns
        -------
        bool
            Whether neither figure is exceeded.
        """
        return self.epsilon <= epsilon and self.delta <= delta

    def assuming(self, *assumptions: str) -> Guarantee:
        """Return the same guarantee with more assumptions."""
        return replace(self, assumptions=tuple(dict.fromkeys(self.assumptions + assumptions)))

    def explained(self, step: str) -> Guarantee:
        """The same guarantee with one more line of explanation."""
        return replace(self, steps=(*self.steps, step))

    def drawn_with(self, *, private_entropy: bool) -> Guarantee:
        """The same guarantee, marked as not private unless the entropy was private."""
        return replace(self, is_private=self.is_private and private_entropy)

    def charged(self, *, to_account: bool) -> Guarantee:
        """Return the guarantee with `is_charged`, for a release that was drawn. A seeded one stays as it is."""
        return replace(self, is_charged=to_account) if self.is_private else self

    def at_user_level(self, step: str) -> Guarantee:
        """The same figures about persons: records were persons, as `step` says (proofs/user_level.md)."""
        check_proved(self.unit)
        return replace(self, unit=USER).explained(step)

    def caveats(self, records: int | None = None) -> tuple[str, ...]:
        """A sentence for each figure that is too large to mean much, for n = `records` where it is known."""
        epsilon, delta = rounded_text(self.epsilon, 6), rounded_text(self.delta, 3)
        found = []
        if self.epsilon > WEAK_EPSILON:
            found.append(
                f"ε = {epsilon} is so large that in the worst case it protects nobody: seeing the outputs may change "
                f"the odds about a {self.unit.member} by a factor of e^{epsilon}."
            )
        whole_records = records is not None and self.delta * records >= 1.0
        if whole_records or self.delta >= WEAK_DELTA:
            size = f", and not below 1/n for n = {records:,}" if whole_records else ""
            found.append(
                f"δ = {delta} is large{size}: showing {self.unit.revealed} with that chance would satisfy it too."
            )
        return tuple(found)

    def memory(self) -> tuple[str, ...]:
        """Return a sentence on whether an account remembers the release, none before it was drawn."""
        match self.is_charged:
            case None:
                return ()
            case True:
                return ("This release was charged to an account, which counts all releases that are charged to it.",)
        return ("No account remembers this release: nothing adds up what others on the same records spend.",)

    def __str__(self) -> str:
        figure = f"ε = {rounded_text(self.epsilon, 6)}" + (
            "" if self.is_pure else f", δ = {rounded_text(self.delta, 3)}"
        )
        kind = "pure differential privacy" if self.is_pure else "differential privacy"
        text = f"{kind} with {figure} under '{self.adjacency}'"
        if not self.is_private:
            text = f"NOT PRIVATE (seeded randomness); unseeded: {text}"
        more = (*(f"{line}." for line in assumed(self.assumptions)), *self.memory(), *self.caveats())
        return f"{text}. {' '.join(more)}" if more else text

    def _proved_by(self, proof: str | None) -> Guarantee:
        return self if proof is None else replace(self, proof=proof)


def assumed(assumptions: Sequence[str]) -> list[str]:
    """Return the assumptions as lines: what is treated as public, and what is assumed about adopted copies."""
    others = [each for each in assumptions if each.startswith(COPY)]
    public = [each for each in assumptions if not each.startswith(COPY)]
    parts = (("Treated as public", public), ("Assumed", others))
    return [f"{title}: {'; '.join(each)}" for title, each in parts if each]


def warn_if_weak(guarantee: Guarantee, records: int) -> None:
    """Give a `WeakGuarantee` warning with the caveats of `guarantee`, if there are any, to the caller of `fit`."""
    if caveats := guarantee.caveats(records):
        warnings.warn(" ".join(caveats), WeakGuarantee, stacklevel=4)  # numpy's error state puts a frame around `fit`


def rounded_text(value: float, digits: int) -> str:
    """`value`, as Python writes it, with so many significant digits, never rounded down: 0.1 is shown as 0.1."""
    upwards = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING, traps=[])
    shown = upwards.create_decimal(repr(float(value)))
    return f"{float(shown):.{digits}g}"


def amplified(epsilon: float, rate: float) -> float:
    """ln(1 + `rate`·(e^`epsilon` − 1)), stable for small and for large ε."""
    if epsilon < _LARGEST_EXPONENT:
        return math.log1p(rate * math.expm1(epsilon))
    return epsilon + math.log(rate + (1.0 - rate) * math.exp(-epsilon))


def unamplified(epsilon: float, rate: float) -> float:
    """The inverse of `amplified`: what may be spent on a sub-sample of share q = `rate`, ln(1 + (e^ε − 1)/q)."""
    if epsilon - math.log(rate) < _LARGEST_EXPONENT:
        return math.log1p(math.expm1(epsilon) / rate)
    return epsilon - math.log(rate) + math.log1p((rate - 1.0) * math.exp(-epsilon))


def _compose_two(first: Guarantee, second: Guarantee) -> Guarantee:
    if first.unit != second.unit:
        raise ParameterError("others", f"guarantees about the same unit, '{first.adjacency}'", second.adjacency)
    return Guarantee(
        epsilon=rounded_up(first.epsilon + second.epsilon),
        delta=rounded_up(first.delta + second.delta),
        proof=first.proof,
        assumptions=tuple(dict.fromkeys(first.assumptions + second.assumptions)),
        is_private=first.is_private and second.is_private,
        unit=first.unit,
        steps=first.steps + second.steps,
        is_charged=_both(first.is_charged, second.is_charged),
        rho=None if first.rho is None or second.rho is None else rounded_up(first.rho + second.rho),
    )


def _both(first: bool | None, second: bool | None) -> bool | None:
    """Are both of them charged to an account? False where one is not, None where nobody knows."""
    if False in (first, second):
        return False
    return first and second
