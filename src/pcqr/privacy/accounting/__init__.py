"""Many releases on the same records: which (ε, δ) do they have together?

Each release is described by an event, a frozen value; `compose` turns events into one `Guarantee` by the best of three
accountants (basic, Rényi, privacy loss distributions). The unit of privacy is the record, as everywhere in pcqr: the
sensitivity under it is part of an event's noise multiplier. Proof: proofs/accounting.md.

A secret sub-sample is `Guarantee.amplify`, groups of records are `Guarantee.group`: apply them to what `compose`
returns, or compose what they return, for a `Guarantee` is an event too.

Examples
--------
`Event` is the type of all that `compose` takes.

>>> from pcqr.privacy.accounting import Event, PureEvent, Repeated
>>> isinstance(Repeated(PureEvent(0.1), count=3), Event)
True
"""

from __future__ import annotations

from pcqr.privacy.accounting.compose import compose
from pcqr.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    NoisySumsEvent,
    OneOf,
    PureEvent,
    Repeated,
    ShapingEvent,
)
from pcqr.privacy.accounting.renyi import concentrated_delta, concentrated_epsilon

__all__ = [
    "ApproximateEvent",
    "BoundedRangeEvent",
    "Composed",
    "ConcentratedEvent",
    "DiscreteGaussianEvent",
    "Event",
    "GaussianEvent",
    "NoisySumsEvent",
    "OneOf",
    "PureEvent",
    "Repeated",
    "ShapingEvent",
    "compose",
    "concentrated_delta",
    "concentrated_epsilon",
]
