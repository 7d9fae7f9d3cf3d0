"""`pcqr demo`: the two main jobs on UCI Adult, beside what they are compared with.

Votes that answer one query at a time and then publish a tree, and a classifier that is published at once; each is a
release of its own. To compare: gradient boosting without privacy, and the commoner label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier

from pcqr import AssumePublic, BudgetExhausted, PrivateClassifier, UniversalRelease
from pcqr.cli.console import draw_into, field_table, make_directory, print_json, progress, stages
from pcqr.cli.demo_picture import draw
from pcqr.cli.jobs import Demo
from pcqr.cli.words import KINDS
from pcqr.datasets import Dataset, load_adult
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel, in_words
from pcqr.plan.words import plan_facts, plan_lines, promise

EPSILON, DELTA, DEPTH, PUBLIC = 2.0, 1e-6, 2, 2_000
ROUNDS_WITHOUT_PRIVACY = 50


@dataclass(frozen=True)
class Sizes:
    """How many records are private, how many people are asked about, and after how many the votes end."""

    records: int
    queries: int
    voted: int


FULL = Sizes(records=32_561, queries=1_500, voted=300)
FAST = Sizes(records=12_000, queries=300, voted=100)


@dataclass(frozen=True)
class Task:
    """Private records; public rows without labels; people who are asked about, in order; and all the other ones."""

    X: NDArray[np.float64]
    y: NDArray[np.int8]
    public: NDArray[np.float64]
    asked: NDArray[np.float64]
    asked_truth: NDArray[np.int8]
    others: NDArray[np.float64]
    others_truth: NDArray[np.int8]

    @classmethod
    def of(cls, data: Dataset, sizes: Sizes) -> Task:
        others = slice(sizes.queries, -PUBLIC)
        return cls(
            data.X_train[: sizes.records],
            data.y_train[: sizes.records],
            data.X_test[-PUBLIC:],
            data.X_test[: sizes.queries],
            data.y_test[: sizes.queries],
            data.X_test[others],
            data.y_test[others],
        )

    @property
    def records(self) -> int:
        return int(self.y.size)


@dataclass(frozen=True)
class Trace:
    """One method: on the people asked about, in order, 1 for right, 0 for wrong, ½ where no label came; on the others.

    `kinds` says how each answer came about; it is empty for a method that just predicts.
    """

    name: str
    correct: NDArray[np.float64]
    others: float
    kinds: tuple[str, ...] = ()

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean())

    @property
    def running_accuracy(self) -> NDArray[np.float64]:
        return np.cumsum(self.correct) / np.arange(1, self.correct.size + 1)

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(self.kinds)
        return {kind: counted[kind] for kind in KINDS}


@dataclass(frozen=True)
class Comparison:
    """Both releases, asked about the same people, and what they are compared with: the traces, in that order."""

    data: Dataset
    task: Task
    classifier: PrivateClassifier
    universal: UniversalRelease
    traces: tuple[Trace, Trace, Trace, Trace]

    @classmethod
    def make(cls, data: Dataset, sizes: Sizes, bar: Progress) -> Comparison:
        task = Task.of(data, sizes)
        universal = UniversalRelease(DecisionTrees(depth=DEPTH), epsilon=EPSILON, delta=DELTA, queries=sizes.voted)
        classifier = PrivateClassifier(EPSILON, DELTA, classes=(0, 1))
        traces = (
            _published_at_once("published classifier", classifier, task, bar),
            _asked(f"votes, trees of depth {DEPTH}", universal, task, bar),
            _without_privacy("boosting without privacy", task),
            _predicted(f"always {data.label_names[0]}", task, np.zeros_like(task.asked_truth), task.others_truth == 0),
        )
        return cls(data, task, classifier, universal, traces)

    def draw(self, path: Path) -> None:
        draw(path, self.traces, epsilon=EPSILON, delta=DELTA, others=self.task.others_truth.size)


def run(job: Demo, *, as_json: bool) -> None:
    """Make both releases, ask them about the same people, and compare."""
    make_directory(job.out)
    data, sizes = load_adult(), FAST if job.fast else FULL
    if not as_json:
        Console().print(
            f"UCI Adult: {sizes.records:,} private records, {PUBLIC:,} public rows without labels. Of "
            f"{sizes.queries:,} other people we ask, one at a time: does this person earn over 50,000 dollars "
            "a year?\n",
            highlight=False,
        )
    with progress(hidden=as_json) as bar:
        made = Comparison.make(data, sizes, bar)
    picture, notice = draw_into(job.out / "demo.png", made.draw)
    if as_json:
        print_json(_summary(made) | {"picture": None if picture is None else str(picture)})
    else:
        _print(made, notice)


def _published_at_once(name: str, classifier: PrivateClassifier, task: Task, bar: Progress) -> Trace:
    with stages(bar, name):
        classifier.fit(task.X, task.y, public=AssumePublic(task.public))
    return _predicted(name, task, classifier.predict(task.asked), classifier.predict(task.others) == task.others_truth)


def _asked(name: str, release: UniversalRelease, task: Task, bar: Progress) -> Trace:
    with stages(bar, name):
        release.fit(task.X, task.y, public=AssumePublic(task.public))
    correct = np.full(task.asked_truth.size, 0.5)
    kinds = []
    for row, point in enumerate(bar.track(task.asked, description=f"{name}: answering")):
        try:
            answer = release.answer(point)
        except BudgetExhausted:
            kinds.append("unanswered")
        else:
            kinds.append(answer.kind)
            if answer.label is not None:
                correct[row] = answer.label == task.asked_truth[row]
    others = release.hypothesis_.predict(task.others) == task.others_truth
    return Trace(name, correct, float(others.mean()), tuple(kinds))


def _without_privacy(name: str, task: Task) -> Trace:
    boosting = HistGradientBoostingClassifier(max_iter=ROUNDS_WITHOUT_PRIVACY, random_state=0).fit(task.X, task.y)
    return _predicted(name, task, boosting.predict(task.asked), boosting.predict(task.others) == task.others_truth)


def _predicted(name: str, task: Task, asked: NDArray[Any], others: NDArray[np.bool_]) -> Trace:
    return Trace(name, (asked == task.asked_truth).astype(np.float64), float(others.mean()))


def _rule(release: UniversalRelease, data: Dataset) -> str:
    """The tree that was published after the votes, in words."""
    return in_words(release.hypothesis_, data.schema, data.label_names)


def _model(classifier: PrivateClassifier, data: Dataset) -> PublishedModel:
    return PublishedModel.from_learner(classifier, schema=data.schema, classes=data.label_names)


def _spent(release: UniversalRelease) -> str:
    plan = release.plan_
    allowed = plan.vote.sparse_vector.unstable
    return (
        f"ε = {plan.epsilon:g} and δ = {plan.delta:g}, charged whole at fit; {release.queries_answered_:,} votes and "
        f"{release.unstable_answers_:,} of {allowed:,} unstable answers. Further answers cost nothing."
    )


def _summary(made: Comparison) -> dict[str, Any]:
    data, task, classifier, release, traces = made.data, made.task, made.classifier, made.universal, made.traces
    return {
        "records": task.records,
        "public_rows": PUBLIC,
        "queries": task.asked_truth.size,
        "others": task.others_truth.size,
        "releases": {
            traces[0].name: {
                "promise": promise(classifier.guarantee_, task.records),
                "guarantee": classifier.guarantee_.facts(),
                "method": classifier.method_,
            },
            traces[1].name: {
                "promise": promise(release.guarantee_, task.records),
                "guarantee": release.guarantee_.facts(),
                "plan": plan_facts(release.plan_),
                "published": _rule(release, data),
            },
        },
        "methods": {
            trace.name: {"accuracy": trace.accuracy, "accuracy_on_others": trace.others}
            | ({"counts": trace.counts} if trace.kinds else {})
            for trace in traces
        },
    }


def _print(made: Comparison, notice: str) -> None:
    data, task, classifier, release, traces = made.data, made.task, made.classifier, made.universal, made.traces
    console = Console()
    model = _model(classifier, data)
    console.print(f"1. {traces[0].name}: made once, applied for ever", style="bold", highlight=False)
    console.print(
        field_table(
            {
                "guarantee": promise(classifier.guarantee_, task.records),
                "model": f"{model.kind.title}, {model.provenance.making.lower()} {model.provenance.hypotheses}",
                "on your files": "pcqr publish, then pcqr predict",
            }
        )
    )
    console.print(f"\n2. {traces[1].name}: one query at a time, then a tree", style="bold", highlight=False)
    console.print(
        field_table(
            {"guarantee": promise(release.guarantee_, task.records)}
            | plan_lines(release.plan_)
            | {"spent": _spent(release), "published": _rule(release, data), "on your files": "pcqr answer"}
        )
    )
    console.print(
        "\nEach of the two is a release by itself. Who makes both on the same records spends both: ε = "
        f"{2 * EPSILON:g} and δ = {2 * DELTA:g}.\n",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_comparison(traces, task))
    console.print(notice, highlight=False, markup=False, soft_wrap=True)


def _comparison(traces: Sequence[Trace], task: Task) -> Table:
    table = Table(title="Accuracy", title_justify="left")
    table.caption, table.caption_justify = "A query without a label counts as half right.", "left"
    table.add_column("", no_wrap=True)
    table.add_column(f"{task.asked_truth.size:,} asked", justify="right")
    table.add_column(f"{task.others_truth.size:,} others", justify="right")
    table.add_column("answers")
    for place, trace in enumerate(traces):
        kinds = ", ".join(f"{trace.counts[kind]:,} {kind}" for kind in KINDS if trace.counts[kind])
        style = "bold" if place < 2 else None
        table.add_row(trace.name, f"{trace.accuracy:.1%}", f"{trace.others:.1%}", kinds, style=style)
    return table
