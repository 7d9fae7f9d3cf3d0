"""Plans whose accuracy is proved: the fewest records for (α, β), and what n records can do.

The certificate of `pcqr.planner.certificate` is the judge. The search can miss the optimum, never the truth:
every plan is certified before it is returned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.mechanisms.sparse_vector import CalibratedSparseVector
from pcqr.planner import search
from pcqr.planner.certificate import EVENTS, SHARES, VoteCertificate, certify_share, margin_needed, sampling_slack
from pcqr.planner.request import Demand, Request
from pcqr.planner.search import Knobs, sparse_vectors, votes_budget
from pcqr.releases.subsample.plan import VoteStage

MOST_RECORDS = 10**13
_ACCURACY = 2e-3  # of the fewest records, relative
_HOPELESS = 20  # a search never gained such a factor over where it started
_BOUNDS = {
    "rate": (1e-9, 1.0),  # q
    "temperature": (1e-3, 5.0),  # η
    "unstable": (1.0, 1e6),  # T
    "dissent": (0.02, 0.45),  # the share of teachers that may dissent on a query that is surely answered
    "failure": (0.02, 0.9),  # the share of β for the seven events of the certificate
}


@dataclass(frozen=True)
class CertifiedVotes:
    """A vote plan, why its accuracy is proved, and the knobs that made it."""

    plan: VoteStage
    certificate: VoteCertificate
    knobs: Knobs


def fewest_records(demand: Demand, start: Knobs | None = None) -> CertifiedVotes | None:
    """A plan for about the fewest records at which (α, β) is proved for m queries, or None below 10¹³.

    `start` is where to begin the search, for instance the knobs of a similar demand.
    """
    if sampling_slack(demand.queries, demand.beta) >= demand.alpha:
        return None  # so few queries that their labels alone may deviate by more than α

    fewest: CertifiedVotes | None = None

    def records(knobs: Knobs) -> float:
        nonlocal fewest
        found = _fewest_at(demand, knobs, None if fewest is None else fewest.plan.records, exact=False)
        fewest = found or fewest
        return math.inf if found is None else found.plan.records

    if start is None:
        search.smallest(records, _starts(demand), _BOUNDS)
    else:
        search.smallest(records, (start,), _BOUNDS, search.FINE)
    return fewest and (_fewest_at(demand, fewest.knobs, fewest.plan.records) or fewest)


def rounded_up(records: int, digits: int = 2) -> int:
    """n = `records` with so many significant digits, never fewer records: what is proved for n is proved for more."""
    unit = int(10 ** max(0, len(str(records)) - digits))
    return -(-records // unit) * unit


def certified_votes(request: Request, start: Knobs | None = None) -> CertifiedVotes | None:
    """A plan for n = `request.records` and m queries for which (α, β) is proved, if the search finds one.

    `start` is where to begin, for instance the knobs of a similar request.
    """
    if sampling_slack(request.queries, request.beta) >= request.alpha:
        return None
    if start is not None and (known := _proved(request, start)) is not None:
        return known
    starts = (_fewest_at(request, start, exact=False) for start in _starts(request))
    if all(found is None or found.plan.records > _HOPELESS * request.records for found in starts):
        return None  # saves the search
    fewest = fewest_records(request, start)
    return None if fewest is None else _proved(request, fewest.knobs)


def _proved(request: Request, knobs: Knobs) -> CertifiedVotes | None:
    found = at_hand(request, knobs)
    return found if found is not None and found.certificate.excess <= request.alpha else None


def at_hand(request: Request, knobs: Knobs) -> CertifiedVotes | None:
    """What these knobs make of n = `request.records`, if anything is proved for it."""
    vector = _sparse_vector(request, knobs, request.records)
    return None if vector is None else _certified(request, knobs, request.records, vector)


def _fewest_at(demand: Demand, knobs: Knobs, below: int | None = None, *, exact: bool = True) -> CertifiedVotes | None:
    """The fewest records at these knobs, fewer than `below` if that is given; None if there are none such.

    The certificate improves with every record that a teacher gets.
    """
    for most in (10**9, MOST_RECORDS):
        # The draw's numerical error grows with n: with that of the largest n one sparse vector serves all of them.
        if below is None or below <= most or most == MOST_RECORDS:
            vector = _sparse_vector(demand, knobs, most, exact=exact)
            found = None if vector is None else _fewest_with(demand, knobs, vector, most, below)
            if found is not None or below is not None:
                return found
    return None


def _fewest_with(
    demand: Demand, knobs: Knobs, vector: CalibratedSparseVector, most: int, below: int | None
) -> CertifiedVotes | None:
    def enough(records: int) -> CertifiedVotes | None:
        found = _certified(demand, knobs, records, vector)
        return found if found is not None and found.certificate.excess <= demand.alpha else None

    high = 1000 if below is None else below - 1
    while (best := enough(high)) is None:
        high *= 4
        if below is not None or high > most:
            return None
    low = high // 4
    while high - low > max(1.0, _ACCURACY * high):
        middle = (low + high) // 2
        found = enough(middle)
        low, high, best = (middle, high, best) if found is None else (low, middle, found)
    return best


def _sparse_vector(demand: Demand, knobs: Knobs, records: int, *, exact: bool = True) -> CalibratedSparseVector | None:
    subsample = math.ceil(knobs["rate"] * records)  # rounded up: the vector serves plans for fewer records, too
    private = demand.but(public=None)  # the certificate is for ĥ drawn from a class of the private points
    budget = votes_budget(private, demand.epsilon, demand.delta, records, subsample, knobs["temperature"])
    if budget is None:
        return None
    failure = _failure(demand, knobs)
    forms = sparse_vectors(*budget, round(knobs["unstable"]), demand.queries, failure, exact=exact)
    return min(forms, key=lambda form: margin_needed(form, demand.queries, failure))


def _certified(demand: Demand, knobs: Knobs, records: int, vector: CalibratedSparseVector) -> CertifiedVotes | None:
    """The plan that these knobs make of n = `records`, if anything is proved for it."""
    subsample = math.floor(knobs["rate"] * records)
    support = None if demand.hypotheses.is_fixed else demand.hypotheses.largest_support
    margin = margin_needed(vector, demand.queries, _failure(demand, knobs))
    teachers = 2 * math.ceil((margin + 0.5) / (1.0 - 2.0 * knobs["dissent"])) + 1
    if teachers > subsample or (support is not None and subsample > support):
        return None
    plan = VoteStage(records, subsample, teachers, knobs["temperature"], vector)
    certificate = certify_share(plan, demand.hypotheses, demand.features, demand.queries, demand.beta, _share(knobs))
    return None if certificate is None else CertifiedVotes(plan, certificate, knobs)


def _failure(demand: Demand, knobs: Knobs) -> float:
    return demand.beta * _share(knobs) / EVENTS


def _share(knobs: Knobs) -> float:
    """The share of β for the seven events that is nearest to the knob, one of those that `certify_votes` tries."""
    return min(SHARES, key=lambda share: abs(math.log(share / knobs["failure"])))


def _starts(demand: Demand) -> tuple[Knobs, ...]:
    load = demand.queries * demand.alpha
    fitting = min(
        0.2, math.expm1(min(1.0, demand.epsilon)) / 8.5
    )  # so small that relabelling does not use up a small ε
    return tuple(
        {"rate": rate, "temperature": 0.05, "unstable": max(1.0, part * load), "dissent": 0.2, "failure": 0.2}
        for rate in (fitting, 0.9)
        for part in (0.05, 0.5)
    )
