"""A head that two pilots choose: one without ferns, one with hardly anything else, by their mistakes, with noise.

Whether columns act together is what public numbers cannot tell, and it decides how much of the norm the ferns should
have. Gaussian noise adds up by squares, so that asking costs little: pilots at a third of the strength each leave seven
eighths of it for the head. Proof: proofs/piloted.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import NoisySums, check_records, descend, sums_guarantee, sums_of
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.head import Head
from pcqr.noise import discrete_gaussian
from pcqr.plan import PilotedStage
from pcqr.progress import under_way
from pcqr.records import Records
from pcqr.records.head_features import HeadFeatures

PLAIN, MIXED, FERNED = range(3)
"""The places of maps and heads: without ferns, with some, with hardly anything else."""


def piloted_head(maps: Sequence[HeadFeatures], records: Records, plan: PilotedStage, entropy: Entropy) -> Head:
    """The head that the pilots speak for, of those on the three `maps`: `piloted_guarantee` holds for it."""
    if len(maps) != len(plan.heads):
        raise ParameterError("maps", f"{len(plan.heads)} feature maps", f"{len(maps)} of them")
    for features, stage in zip(maps, plan.heads, strict=True):
        check_records(features, records, stage)
    pilots = [
        descend(maps[place], records, pilot, entropy, called=f"pilot {number} of 2")
        for number, place, pilot in zip((1, 2), (PLAIN, FERNED), plan.pilots, strict=True)
    ]
    with under_way("comparing the pilots"):
        plain, ferned = map(int, records.mistakes(pilots))
    lead = plan.bound * (plain - ferned) // records.whole + discrete_gaussian(plan.scale, entropy)
    chosen = choose_head(lead, plan)
    return descend(maps[chosen], records, plan.heads[chosen], entropy)


def choose_head(lead: int, plan: PilotedStage) -> int:
    """Which head a noisy `lead` of the ferns, in M-ths of a record, speaks for: post-processing."""
    if lead >= plan.bound * plan.ferned_from:
        return FERNED
    return MIXED if lead >= plan.bound * plan.mixed_from else PLAIN


def piloted_guarantee(plan: PilotedStage, delta: float, *, beside: Sequence[PureEvent] = ()) -> Guarantee:
    """Pilots, lead and the costliest of the three heads, with a δ of at most `delta` (proofs/piloted.md)."""
    lead = NoisySums(plan.comparison, steps=1, scale=plan.scale, draws=1)
    heads = [sums_of(head) for head in plan.heads]
    costliest = replace(
        max(heads, key=lambda head: head.steps / head.event.noise_multiplier**2),
        scale=min(head.scale for head in heads),
        draws=max(head.draws for head in heads),
    )
    stated = sums_guarantee([*map(sums_of, plan.pilots), lead, costliest], delta, beside=beside)
    return replace(stated, proof="piloted").explained("two pilots, their noisy comparison, and the head it speaks for")
