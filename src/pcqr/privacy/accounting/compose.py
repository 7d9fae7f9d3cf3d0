"""One door to all accountants: the best figure that is proved, and who computed it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from pcqr.checks import check_finite
from pcqr.errors import ParameterError
from pcqr.privacy.accounting import basic, loss, renyi
from pcqr.privacy.accounting.events import Event, Ledger
from pcqr.privacy.guarantee import Guarantee

Choice = Literal["best", "basic", "Rényi", "PLD"]


class Accountant(Protocol):
    """What each of the modules basic, renyi and loss offers."""

    NAME: str

    def objection(self, ledger: Ledger, delta: float) -> str | None: ...
    def figures(self, ledger: Ledger, delta: float) -> tuple[float, float]: ...


_ACCOUNTANTS: dict[str, Accountant] = {"basic": basic, "Rényi": renyi, "PLD": loss}


def compose(events: Iterable[Event], delta: float, *, accountant: Choice = "best") -> Guarantee:
    """The guarantee of all events together, on the same records.

    Mechanisms may be chosen from the outputs of earlier ones; the list of events may not: it is fixed beforehand.

    Parameters
    ----------
    events : iterable of Event
        What was, or will be, released.
    delta : float
        The most δ that the guarantee may have. 0 asks for a pure one.
    accountant : {"best", "basic", "Rényi", "PLD"}, default "best"
        Who computes ε. "best": the least one among the accountants that know all the events.

    Returns
    -------
    Guarantee
        Its `steps` name the accountant.

    Raises
    ------
    ParameterError
        When no accountant can state a figure, with each one's reason.

    References
    ----------
    .. [1] C. Dwork, K. Kenthapadi, F. McSherry, I. Mironov, M. Naor. Our data, ourselves: privacy via distributed noise
       generation. EUROCRYPT 2006.
    .. [2] I. Mironov. Rényi differential privacy. CSF 2017.

    Examples
    --------
    Two releases of this package and a noisy count that somebody else has published, on the same records:

    >>> from pcqr import Guarantee
    >>> from pcqr.privacy.accounting import DiscreteGaussianEvent, compose
    >>> together = compose([Guarantee(0.5, 1e-7), Guarantee(0.3), DiscreteGaussianEvent(10.0)], delta=1e-6)
    >>> round(together.epsilon, 3), together.delta
    (1.209, 1e-06)
    >>> together.steps
    ('3 mechanisms on the same records, composed by the Rényi accountant',)
    """
    check_finite("delta", delta)
    if not 0 <= delta < 1:
        raise ParameterError("delta", "a number in [0, 1)", delta)
    if accountant != "best" and accountant not in _ACCOUNTANTS:
        raise ParameterError("accountant", f"'best' or one of {', '.join(map(repr, _ACCOUNTANTS))}", accountant)
    ledger = Ledger.of(events)
    if not ledger.releases:
        raise ParameterError("events", "at least one event", ())
    asked: dict[str, Accountant] = _ACCOUNTANTS if accountant == "best" else {accountant: _ACCOUNTANTS[accountant]}
    objections = {name: module.objection(ledger, float(delta)) for name, module in asked.items()}
    if all(objections.values()):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in objections.items())
        kinds = sorted({type(release).__name__ for release, _ in ledger.releases})
        raise ParameterError("events", f"such that an accountant has a figure at δ = {delta:g} ({reasons})", kinds)
    return min(
        (_state(asked[name], ledger, float(delta)) for name, reason in objections.items() if reason is None),
        key=lambda stated: (stated.epsilon, stated.delta),
    )


def _state(accountant: Accountant, ledger: Ledger, delta: float) -> Guarantee:
    number = "1 mechanism" if ledger.count == 1 else f"{ledger.count} mechanisms"
    epsilon, spent = accountant.figures(ledger, delta)
    return Guarantee(
        epsilon=epsilon,
        delta=spent,
        proof="accounting",
        assumptions=ledger.assumptions,
        is_private=ledger.is_private,
        steps=(f"{number} on the same records, composed by the {accountant.NAME} accountant",),
    )
