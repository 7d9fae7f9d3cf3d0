"""Guarantees and plans in words that a newcomer understands. Public numbers only."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from pcqr.privacy.composition import parts_of
from pcqr.privacy.guarantee import COPY, Guarantee, rounded_text
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.plan import Plan
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan


def promise(guarantee: Guarantee, records: int) -> str:
    """The guarantee in a sentence."""
    epsilon = rounded_text(guarantee.epsilon, 3 if guarantee.epsilon < 1000 else 6)
    factor = f"e^{epsilon}" + (f" = {rounded_text(math.exp(float(epsilon)), 3)}" if float(epsilon) < 700 else "")
    extra = "" if guarantee.is_pure else f", plus a probability of {rounded_text(guarantee.delta, 3)}"
    event = "outcome" if guarantee.is_pure else "set of outcomes"
    seeded = "" if guarantee.is_private else "NOT PRIVATE: the randomness was seeded. Without a seed this would hold. "
    changed = f"If {guarantee.unit.any_one(records)} were {guarantee.unit.change}"
    figures = f"{seeded}{changed}, no {event} of this release would become more than {factor} times as likely{extra}."
    copies = (f"This assumes that {each}." for each in guarantee.assumptions if each.startswith(COPY))
    return " ".join((figures, *copies, *guarantee.caveats(records)))


def guarantee_facts(guarantee: Guarantee, records: int) -> dict[str, Any]:
    """How the JSON of every release begins."""
    return {"promise": promise(guarantee, records), "guarantee": guarantee.facts(), "records": records}


def plan_facts(plan: Plan) -> dict[str, Any]:
    """All numbers of the plan, by name, for JSON. What nobody asked for is left out."""
    facts = asdict(plan)
    asked: dict[str, Any] = facts.pop("budget") | (facts.pop("aim") or {})
    known = {name: value for name, value in asked.items() if value is not None}
    return {"mode": facts.pop("mode")} | known | facts | {"guarantee": plan.guarantee.facts()}


def _vote_lines(vote: VoteStage | NoisyMaxStage, units: str) -> dict[str, str]:
    teachers = {"teachers": f"k = {vote.teachers:,}, each on about {vote.teacher_records:,} {units}"}
    if isinstance(vote, NoisyMaxStage):
        return teachers | {"votes": f"noise on each of m = {vote.queries:,}, all paid for; none is unstable"}
    return {
        "sub-sample": f"n' = {vote.subsample:,} of n = {vote.records:,} {units}",
        "relabelling": "none" if vote.inverse_temperature is None else f"η = {vote.inverse_temperature:.4g}",
        **teachers,
        "unstable answers": f"at most T = {vote.sparse_vector.unstable:,}",
    }


def plan_lines(plan: Plan) -> dict[str, str]:
    """The plan in words, from public numbers only."""
    lines: dict[str, str] = {"mode": plan.mode}
    if isinstance(plan, VotingPlan):
        lines |= _vote_lines(plan.vote, plan.guarantee.unit.plural)
    if isinstance(plan, ClassifierPlan) and not isinstance(plan.stage, DrawStage):  # α and β say nothing about it
        return lines | {"publication": "a classifier for tables, at once and without votes"}
    for publish in parts_of(plan.stages, DrawStage):
        after = f"after {publish.after_queries:,} queries or T unstable answers" if publish.after_queries else "at once"
        lines["publication"] = f"{after}, η = {publish.inverse_temperature:.4g}"
    if plan.aim is not None:
        aim, proved = plan.aim, "proved" if plan.certified else "not proved"
        lines["accuracy"] = f"within α = {aim.alpha:g} of the best, but for β = {aim.beta:g}: {proved} at this n"
    return lines
