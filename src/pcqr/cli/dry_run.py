"""What `pcqr publish` will do, before it does it: in words, and with made-up models. From public things alone."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.cli.inputs import Shown
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import leaves_of
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees, Leaf, Predicate, Split
from pcqr.models import Provenance, PublishedModel
from pcqr.privacy.composition import Context, Sequence, account, parts_of
from pcqr.privacy.guarantee import Guarantee, rounded_text
from pcqr.releases.classifier.estimator import DryRun
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.stages import DrawStage

LONG = 5e9
"""Steps that take more than a few seconds."""
_STEPS_A_DRAW = 100
_BYTES_A_WEIGHT = 60
"""Of a draw of noise, and of what is held for each weight: weights, velocity, mean, sums, noise."""
_BYTES_AT_REST, _COPIES_OF_A_PART = 4.2e8, 3.0
"""Of pcqr and its libraries with blocks of a table at hand; and how often a part is in memory while it is read."""


def try_out(dry_run: DryRun, names: Several[Any], shown: Shown, epsilon: float) -> None:
    """Write out models with the same words, made up: what cannot be written must fail before ε is spent."""
    origin = Provenance(predicates=_predicates(dry_run))
    for hypothesis in _made_up(dry_run, len(names), shown):
        PublishedModel(hypothesis, tuple(names), shown.schema, Guarantee(epsilon), origin).texts()


@dataclass(frozen=True)
class Parts:
    """What a table that is read part by part takes: records, those of its largest part, and bytes of one. Public."""

    records: int
    largest: int
    record_bytes: int
    on_cluster: bool = False

    def memory(self, dry_run: DryRun) -> float:
        """Bytes, all in all: what is held of one part, and what does not grow with the table."""
        kept = max((_kept_bytes(stage) for stage in _longest(dry_run)), default=0.0)
        of_a_part = self.largest * (_COPIES_OF_A_PART * self.record_bytes + 2.0 * kept)
        return _BYTES_AT_REST + of_a_part + _fixed_bytes(dry_run, self.records)

    def scratch(self, dry_run: DryRun) -> float:
        """Bytes on disk: the table in compact form, and what a linear classifier keeps of its records."""
        kept = max((_kept_bytes(stage) for stage in _longest(dry_run)), default=0.0)
        return self.records * (self.record_bytes + kept)

    def in_words(self, dry_run: DryRun) -> dict[str, str]:
        memory, scratch = self.memory(dry_run), self.scratch(dry_run)
        if self.on_cluster:
            return {
                "workers": f"about {scratch / 1e9:,.1f} GB in the memory of all workers together, or on their disks"
            }
        return {
            "memory": f"about {memory / 1e9:,.1f} GB, the table included: it is read part by part",
            "scratch": f"about {scratch / 1e9:,.1f} GB on disk, until the end of the run",
        }


def described(dry_run: DryRun, records: int, parts: Parts | None = None) -> dict[str, str]:
    """Return what will be done, step by step: what each step costs by itself, its size, and what it takes."""
    plan, context = dry_run.plan, _context(dry_run, records)
    steps = plan.stage.stages if isinstance(plan.stage, Sequence) else (plan.stage,)
    lines = {"publishes": plan.stage.words(context)} if len(steps) == 1 else {}
    words = plan.stage.steps(context) if isinstance(plan.stage, Sequence) else ()
    for place, (stage, step) in enumerate(zip(steps, words, strict=False), start=1):
        cost = rounded_text(account(stage, context, plan.delta).epsilon, 3)
        lines[f"step {place}"] = f"{step}; ε = {cost} by itself"
    if parts_of(plan.stage, LinearStage) and len(steps) > 1:
        lines["together"] = "noise adds up by squares, so that all steps cost less than the sum of their ε"
    if dry_run.maps:
        lines["columns"] = f"{next(iter(dry_run.maps.values())).features:,}, once they are encoded"
    if dry_run.shortfall is not None:
        lines["expected"] = dry_run.shortfall
    return lines | _effort(dry_run, records, parts)


def _context(dry_run: DryRun, records: int) -> Context:
    width = next((features.features for features in dry_run.maps.values()), 1)
    return Context(dry_run.hypotheses, records, width)


def announcement(dry_run: DryRun, records: int, parts: Parts | None = None) -> str | None:
    """For a run that takes long: what it will do, and the steps that it takes. None for a short one.

    Where the table is read part by part: memory and scratch, too.
    """
    steps = _steps(dry_run, records)
    if steps <= LONG and parts is None:
        return None
    made = dry_run.plan.stage.words(_context(dry_run, records))
    shorter = " --depth makes it shorter." if not _longest(dry_run) else ""
    takes = (
        [] if parts is None else [f"{name.capitalize()}: {words}." for name, words in parts.in_words(dry_run).items()]
    )
    return " ".join([f"To publish: {made}. {_in_words(steps).capitalize()}.{shorter}", *takes])


def _effort(dry_run: DryRun, records: int, parts: Parts | None) -> dict[str, str]:
    """Time and memory, beside what the table itself takes where that is in memory."""
    steps, needed = _steps(dry_run, records), _bytes(dry_run, records)
    lines = {"time": _in_words(steps)} if steps else {}
    if parts is not None:
        return lines | parts.in_words(dry_run)
    return lines | ({"memory": f"about {needed / 1e6:,.0f} MB beside the table"} if needed else {})


def _in_words(steps: float) -> str:
    low, high = (max(1, round(steps / speed)) for speed in (2e9, 1e9))
    span = f"{low:,} to {high:,} seconds" if low < high else counted(high, "second")
    return f"about {steps:.0e} steps, {'a second or less' if steps <= 1e9 else span} on one core"


def _steps(dry_run: DryRun, records: int) -> float:
    linears = sum(
        stage.steps * stage.blocks * (2.0 * records * (stage.dense + stage.ferns) + _STEPS_A_DRAW * stage.coordinates)
        for stage in _longest(dry_run)
    )
    trees = _trees(dry_run)
    if trees is None:
        return linears
    return linears + trees.cost(records, trees.depth_for(records))


def _bytes(dry_run: DryRun, records: int) -> float:
    kept = max((_kept_bytes(stage) + 4.0 * stage.blocks for stage in _longest(dry_run)), default=0.0)
    return records * kept + _fixed_bytes(dry_run, records)


def _kept_bytes(stage: LinearStage) -> float:
    """Of what a linear classifier keeps of one record."""
    return 2.0 * (stage.dense + stage.ferns) + 8.0


def _fixed_bytes(dry_run: DryRun, records: int) -> float:
    """Of what does not lie there once for every record: weights, and the counts of trees."""
    weights = max((_BYTES_A_WEIGHT * stage.blocks * stage.coordinates for stage in _longest(dry_run)), default=0)
    trees = _trees(dry_run)
    return float(max(weights, 0 if trees is None else trees.bytes_needed(trees.depth_for(records))))


def _longest(dry_run: DryRun) -> tuple[LinearStage, ...]:
    """The linear classifiers of a run: of several options the one that takes longest."""
    return tuple(stage for stage in dry_run.plan.stage.longest() if isinstance(stage, LinearStage))


def _trees(dry_run: DryRun) -> DecisionTrees | None:
    """The trees of which one is drawn."""
    trees = dry_run.hypotheses
    is_drawn = bool(parts_of(dry_run.plan.stage, DrawStage))
    return trees if is_drawn and isinstance(trees, DecisionTrees) and trees.predicates else None


def _predicates(dry_run: DryRun) -> tuple[Predicate, ...] | None:
    return dry_run.hypotheses.predicates if isinstance(dry_run.hypotheses, DecisionTrees) else None


def _made_up(dry_run: DryRun, labels: int, shown: Shown) -> Iterator[Hypothesis]:
    """Yield one classifier of each kind that may come out."""
    predicates, width = _predicates(dry_run) or (), len(shown.schema.features)
    has_tree, tree = _trees(dry_run) is not None, _asking_all(predicates)
    for features in dry_run.maps.values():
        yield _zero(features, labels)
        if has_tree:
            yield _zero(_beside(features, tree, shown, labels), labels)
    if has_tree and not dry_run.maps:
        drawn = DecisionTree(tree, width)
        rows = (np.arange(labels) == leaf.label for leaf in leaves_of(tree))
        yield drawn.with_shares([((1.0 + row) / (labels + 1.0)).tolist() for row in rows])


def _zero(features: FeatureMap, labels: int) -> LinearClassifier:
    blocks = 1 if labels == 2 else labels
    cells = np.zeros((blocks, features.count, 1 << features.depth))
    return LinearClassifier.of(features, labels, np.ones((blocks, features.size)), cells)


def _beside(features: FeatureMap, tree: Leaf | Split, shown: Shown, labels: int) -> FeatureMap:
    """The feature map beside this tree. Without public rows there is one whatever the tree says on them."""
    found = (features.beside(tree, public, 1.0, labels=labels) for public in (shown.public, None))
    return next((each for each in found if each.tree is not None), features)


def _asking_all(predicates: Several[Predicate], label: int = 0) -> Leaf | Split:
    """A tree that asks every one of the predicates."""
    if not predicates:
        return Leaf(label)
    middle = len(predicates) // 2
    return Split(predicates[middle], _asking_all(predicates[:middle], 0), _asking_all(predicates[middle + 1 :], 1))
