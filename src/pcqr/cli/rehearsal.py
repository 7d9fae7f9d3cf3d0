"""What `pcqr publish` will do, before it does it: in words, and with made-up models. From public things alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.algorithms.linear import NoisySums, sums_guarantee, sums_of
from pcqr.cli.inputs import Shown
from pcqr.estimators.private_classifier import Rehearsal
from pcqr.guarantee import Guarantee, rounded_text
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees, Leaf, Predicate, Split
from pcqr.hypotheses.trees.work import steps_of_fewest
from pcqr.models import Provenance, PublishedModel
from pcqr.models.learners import made_of
from pcqr.plan import (
    AskedPlan,
    AskedStage,
    ContestStage,
    CountedPlan,
    CountedStage,
    DrawPlan,
    LinearPlan,
    LinearStage,
    PilotedPlan,
    PilotedStage,
    StackedStage,
    counted,
)
from pcqr.records.feature_map import FeatureMap

LONG = 5e9
"""Steps that take more than a few seconds."""
_STEPS_A_DRAW = 100
_BYTES_A_WEIGHT = 60
"""Of a draw of noise, and of what is held for each weight: weights, velocity, mean, sums, noise."""
_BYTES_AT_REST, _COPIES_OF_A_PART = 4.2e8, 3.0
"""Of pcqr and its libraries with blocks of a table at hand; and how often a part is in memory while it is read."""


def try_out(rehearsal: Rehearsal, names: Sequence[Any], shown: Shown, epsilon: float) -> None:
    """Write out models with the same words, made up: what cannot be written must fail before ε is spent."""
    origin = Provenance(predicates=_predicates(rehearsal))
    for hypothesis in _made_up(rehearsal, len(names), shown):
        PublishedModel(hypothesis, tuple(names), shown.schema, Guarantee(epsilon), origin).texts()


@dataclass(frozen=True)
class Parts:
    """What a table that is read part by part takes: records, those of its largest part, and bytes of one. Public."""

    records: int
    largest: int
    record_bytes: int
    on_cluster: bool = False

    def memory(self, rehearsal: Rehearsal) -> float:
        """Bytes, all in all: what is held of one part, and what does not grow with the table."""
        kept = max((_kept_bytes(stage) for stage in _longest(rehearsal)), default=0.0)
        of_a_part = self.largest * (_COPIES_OF_A_PART * self.record_bytes + 2.0 * kept)
        return _BYTES_AT_REST + of_a_part + _fixed_bytes(rehearsal, self.records)

    def scratch(self, rehearsal: Rehearsal) -> float:
        """Bytes on disk: the table in compact form, and what a linear classifier keeps of its records."""
        kept = max((_kept_bytes(stage) for stage in _longest(rehearsal)), default=0.0)
        return self.records * (self.record_bytes + kept)

    def in_words(self, rehearsal: Rehearsal) -> dict[str, str]:
        memory, scratch = self.memory(rehearsal), self.scratch(rehearsal)
        if self.on_cluster:
            return {
                "workers": f"about {scratch / 1e9:,.1f} GB in the memory of all workers together, or on their disks"
            }
        return {
            "memory": f"about {memory / 1e9:,.1f} GB, the table included: it is read part by part",
            "scratch": f"about {scratch / 1e9:,.1f} GB on disk, until the end of the run",
        }


def told(rehearsal: Rehearsal, records: int, parts: Parts | None = None) -> dict[str, str]:
    """What will be done, part by part: what each part costs by itself, its size, and what it takes."""
    plan = rehearsal.plan
    lines = {"publishes": made_of(plan, rehearsal.hypotheses, records)}
    if isinstance(plan, PilotedPlan):
        lines |= _piloted(plan.piloted, plan.delta)
    elif isinstance(plan, AskedPlan):
        lines |= _question(plan.asked, plan.delta)
    elif isinstance(plan, CountedPlan):
        lines |= _counted(plan.counted, plan.delta)
    elif isinstance(plan, LinearPlan):
        lines["linear"] = _descent(plan.linear, plan.delta)
    if rehearsal.maps:
        lines["columns"] = f"{rehearsal.maps[0].features:,}, once they are encoded"
    return lines | _effort(rehearsal, records, parts)


def _counted(stage: CountedStage, delta: float) -> dict[str, str]:
    rare, uneven = (
        f"where it counts fewer than {most:,} records of the rarer label" for most in (stage.rare, stage.uneven)
    )
    return {
        "count": f"of the labels, with noise; ε = {rounded_text(stage.count, 3)} by itself",
        "then a tree": f"of depth {stage.depth}, {rare}; ε = {rounded_text(2.0 * stage.tree, 3)} by itself",
        "or a careful linear classifier": f"{uneven}: {_descent(stage.careful, delta)}",
        **_otherwise(stage.otherwise, delta),
    }


def _otherwise(stage: StackedStage | PilotedStage, delta: float) -> dict[str, str]:
    if isinstance(stage, PilotedStage):
        return {"or": "a linear classifier that pilots choose", **_piloted(stage, delta)}
    common = f"of depth {stage.depth}, where both labels are common"
    return {
        "or a tree": f"{common}; ε = {rounded_text(2.0 * stage.tree, 3)} by itself",
        "with a linear classifier beside it": f"at most {_descent(stage.linear, delta)}",
    }


def _contest(stage: ContestStage, delta: float) -> dict[str, str]:
    lead = sums_guarantee([NoisySums(stage.comparison, 1, stage.scale, 1)], delta)
    ahead = f"where the best tree of depth {stage.shallow} makes {_more(stage.tree_from)}"
    return {
        "pilot": _descent(stage.pilot, delta),
        "comparison": f"of its mistakes with trees, with noise; ε = {rounded_text(lead.epsilon, 3)} by itself",
        "and a tree": f"of depth {stage.depth}, {ahead}; ε = {rounded_text(2.0 * stage.tree, 3)} by itself",
        "or a linear classifier": _descent(stage.linear, delta),
    }


def _question(stage: AskedStage | ContestStage, delta: float) -> dict[str, str]:
    return _contest(stage, delta) if isinstance(stage, ContestStage) else _asked(stage, delta)


def _asked(stage: AskedStage, delta: float) -> dict[str, str]:
    best = f"the best tree of depth {stage.shallow} makes"
    tree = f"where these are at most {stage.few:,}, or at least {stage.many:,}"
    return {
        "question": f"how many mistakes {best}, with noise; ε = {rounded_text(stage.question, 3)} by itself",
        "and a tree": f"of depth {stage.depth}, {tree}; ε = {rounded_text(2.0 * stage.tree, 3)} by itself",
        "or a linear classifier": _descent(stage.linear, delta),
    }


def _piloted(stage: PilotedStage, delta: float) -> dict[str, str]:
    lead = sums_guarantee([NoisySums(stage.comparison, 1, stage.scale, 1)], delta)
    few, most = (f"where pilot 2 makes {_more(ahead)}" for ahead in (stage.mixed_from, stage.ferned_from))
    which = ("no ferns, else", f"some ferns, {few}", f"hardly anything but ferns, {most}")
    linears = [f"{name}: {_descent(linear, delta)}" for name, linear in zip(which, stage.linears, strict=True)]
    return {
        "pilot 1": _descent(stage.pilots[0], delta),
        "pilot 2": _descent(stage.pilots[1], delta),
        "comparison": f"of the pilots' mistakes, with noise; ε = {rounded_text(lead.epsilon, 3)} by itself",
        "then one linear classifier": "\n".join(reversed(linears)),
        "together": "noise adds up by squares, so that all parts cost less than the sum of their ε",
    }


def _more(ahead: int) -> str:
    """That a pilot is ahead by so many records, in words."""
    if ahead > 0:
        return f"at least {counted(ahead, 'mistake')} fewer"
    return "no more mistakes" if ahead == 0 else f"at most {counted(-ahead, 'mistake')} more"


def announcement(rehearsal: Rehearsal, records: int, parts: Parts | None = None) -> str | None:
    """For a run that takes long: what it will do, and the steps that it takes. None for a short one.

    Where the table is read part by part: memory and scratch, too.
    """
    steps = _steps(rehearsal, records)
    if steps <= LONG and parts is None:
        return None
    made = made_of(rehearsal.plan, rehearsal.hypotheses, records)
    shorter = " --depth makes it shorter." if isinstance(rehearsal.plan, DrawPlan) else ""
    takes = (
        [] if parts is None else [f"{name.capitalize()}: {words}." for name, words in parts.in_words(rehearsal).items()]
    )
    return " ".join([f"To publish: {made}. {_in_words(steps).capitalize()}.{shorter}", *takes])


def _descent(stage: LinearStage, delta: float) -> str:
    alone = sums_guarantee([sums_of(stage)], delta)
    parts = [f"{stage.dense:,} dense coordinates"] if stage.dense else []
    parts += [f"{stage.ferns:,} ferns of {1 << stage.depth:,} cells"] if stage.ferns else []
    weights = stage.blocks * stage.coordinates
    return (
        f"{' and '.join(parts)}, {weights:,} weights; {stage.steps:,} noisy sum{'s' * (stage.steps > 1)}; "
        f"ε = {rounded_text(alone.epsilon, 3)} by itself"
    )


def _effort(rehearsal: Rehearsal, records: int, parts: Parts | None) -> dict[str, str]:
    """Time and memory, beside what the table itself takes where that is in memory."""
    steps, needed = _steps(rehearsal, records), _bytes(rehearsal, records)
    lines = {"time": _in_words(steps)} if steps else {}
    if parts is not None:
        return lines | parts.in_words(rehearsal)
    return lines | ({"memory": f"about {needed / 1e6:,.0f} MB beside the table"} if needed else {})


def _in_words(steps: float) -> str:
    low, high = steps / 2e9, steps / 1e9
    span = "a second or less" if high <= 1.0 else f"{max(1.0, low):,.0f} to {high:,.0f} seconds"
    return f"about {steps:.0e} steps, {span} on one core"


def _steps(rehearsal: Rehearsal, records: int) -> float:
    linears = sum(
        stage.steps * stage.blocks * (2.0 * records * (stage.dense + stage.ferns) + _STEPS_A_DRAW * stage.coordinates)
        for stage in _longest(rehearsal)
    )
    trees = _trees(rehearsal)
    if trees is None:
        return linears
    drawn = trees.cost(records, trees.depth_for(records))
    if not isinstance(rehearsal.plan, AskedPlan):
        return linears + drawn
    predicates = len(_predicates(rehearsal) or ())
    return linears + drawn + steps_of_fewest(records, predicates, trees.labels, rehearsal.plan.asked.shallow)


def _bytes(rehearsal: Rehearsal, records: int) -> float:
    kept = max((_kept_bytes(stage) + 4.0 * stage.blocks for stage in _longest(rehearsal)), default=0.0)
    return records * kept + _fixed_bytes(rehearsal, records)


def _kept_bytes(stage: LinearStage) -> float:
    """Of what a linear classifier keeps of one record."""
    return 2.0 * (stage.dense + stage.ferns) + 8.0


def _fixed_bytes(rehearsal: Rehearsal, records: int) -> float:
    """Of what does not lie there once for every record: weights, and the counts of trees."""
    weights = max((_BYTES_A_WEIGHT * stage.blocks * stage.coordinates for stage in _longest(rehearsal)), default=0)
    trees = _trees(rehearsal)
    return float(max(weights, 0 if trees is None else trees.bytes_needed(trees.depth_for(records))))


def _longest(rehearsal: Rehearsal) -> tuple[LinearStage, ...]:
    """The descents of a run, the longest linear classifier where one of several comes last."""
    plan = rehearsal.plan
    if isinstance(plan, LinearPlan):
        return (plan.linear,)
    if isinstance(plan, AskedPlan):
        asked = plan.asked
        return (asked.pilot, asked.linear) if isinstance(asked, ContestStage) else (asked.linear,)
    if isinstance(plan, CountedPlan):
        last = plan.counted.otherwise
        return _of_piloted(last) if isinstance(last, PilotedStage) else (last.linear,)
    return _of_piloted(plan.piloted) if isinstance(plan, PilotedPlan) else ()


def _of_piloted(stage: PilotedStage) -> tuple[LinearStage, ...]:
    return (*stage.pilots, max(stage.linears, key=_size))


def _size(linear: LinearStage) -> int:
    """What the time of a linear classifier grows with, for each of its records."""
    return linear.steps * (linear.dense + linear.ferns)


def _trees(rehearsal: Rehearsal) -> DecisionTrees | None:
    """The trees of which one may be drawn."""
    trees = rehearsal.hypotheses
    is_drawn = isinstance(rehearsal.plan, DrawPlan | AskedPlan | CountedPlan)
    return trees if is_drawn and isinstance(trees, DecisionTrees) and trees.predicates else None


def _predicates(rehearsal: Rehearsal) -> tuple[Predicate, ...] | None:
    return rehearsal.hypotheses.predicates if isinstance(rehearsal.hypotheses, DecisionTrees) else None


def _made_up(rehearsal: Rehearsal, labels: int, shown: Shown) -> Iterator[Hypothesis]:
    """One of each kind that may come out."""
    plan, predicates, width = rehearsal.plan, _predicates(rehearsal) or (), len(shown.schema.features)
    tree = _asking_all(predicates)
    for features in (*rehearsal.maps, *_beside(rehearsal, tree, shown)):
        blocks = 1 if labels == 2 else labels
        cells = np.zeros((blocks, features.count, 1 << features.depth))
        yield LinearClassifier.of(features, labels, np.ones((blocks, features.size)), cells)
    if isinstance(plan, DrawPlan | AskedPlan | CountedPlan):
        yield DecisionTree(tree, width)


def _beside(rehearsal: Rehearsal, tree: Leaf | Split, shown: Shown) -> Iterator[FeatureMap]:
    """The feature map of a linear classifier beside this tree, where one may come out. It is that of the last linear classifier."""
    stage = rehearsal.plan.counted.otherwise if isinstance(rehearsal.plan, CountedPlan) else None
    if isinstance(stage, StackedStage):
        found = (rehearsal.maps[-1].beside(tree, public, stage.whitening) for public in (shown.public, None))
        yield next((features for features in found if features.tree is not None), rehearsal.maps[-1])


def _asking_all(predicates: Sequence[Predicate], label: int = 0) -> Leaf | Split:
    """A tree that asks every one of the predicates."""
    if not predicates:
        return Leaf(label)
    middle = len(predicates) // 2
    return Split(predicates[middle], _asking_all(predicates[:middle], 0), _asking_all(predicates[middle + 1 :], 1))
