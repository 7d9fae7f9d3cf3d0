"""`pcqr demo`: the two main jobs on UCI Adult, beside what they are compared with.

Votes that answer one query at a time and then publish a tree, and a classifier that is published at once; each is a
release of its own. To compare: gradient boosting without privacy, and the commoner label.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier

from pcqr import AssumePublic, BudgetExhausted, PrivateClassifier, SemiPrivateLearner, UniversalRelease
from pcqr.cli.console import KINDS, draw_into, field_table, make_directory, print_json, progress, stages
from pcqr.cli.jobs import Datasets, Demo, Serve
from pcqr.datasets import BUNDLED, Dataset, adult_schema, adult_table, load_adult, write_table
from pcqr.datasets.adult import LABEL, LABEL_NAMES, LEFT_OUT
from pcqr.durable.directory import FACTS
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel, in_words
from pcqr.models.published import MODEL
from pcqr.plotting.pictures import draw_demo as draw
from pcqr.releases.words import plan_facts, plan_lines, promise

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


def run(job: Demo) -> None:
    """Make both releases, ask them about the same people, and compare."""
    make_directory(job.out)
    data, sizes = load_adult(), FAST if job.fast else FULL
    if not job.as_json:
        Console().print(
            f"UCI Adult: {sizes.records:,} private records, {PUBLIC:,} public rows without labels. Of "
            f"{sizes.queries:,} other people we ask, one at a time: does this person earn over 50,000 dollars "
            "a year?\n",
            highlight=False,
        )
    with progress(hidden=job.as_json) as bar:
        made = Comparison.make(data, sizes, bar)
    picture, notice = draw_into(job.out / "demo.png", made.draw)
    if job.as_json:
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


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr serve --demo`: something to serve on UCI Adult, made once and found again.
#
# A release that answers by votes and then publishes a tree, and a tree that was published at once. Adult is public, so
# no account is charged. All of it is in one folder, the anchor of the release too: who deletes the folder deletes all.


FOLDER = Path("out/serve")
RELEASE, TREE, QUERIES, ANCHOR = "adult", "adult-tree", "queries.csv", "adult.anchor"
RECORDS, DEMO_PUBLIC, ASKED = 32_561, 2_000, 200


@dataclass(frozen=True)
class Adult:
    """Private records with labels, public rows, and people to ask about, by the schema that was published with them."""

    private: dict[str, Any]
    labels: list[str]
    public: dict[str, Any]
    asked: dict[str, Any]

    @classmethod
    def load(cls) -> Adult:
        train, test = adult_table("train"), adult_table("test")
        names = adult_schema().without(*LEFT_OUT).names

        def rows(table: dict[str, Any], which: slice) -> dict[str, Any]:
            return {name: table[name][which] for name in names}

        labels = list(train[LABEL][:RECORDS])
        return cls(rows(train, slice(RECORDS)), labels, rows(test, slice(-DEMO_PUBLIC, None)), rows(test, slice(ASKED)))


def with_demo(job: Serve) -> Serve:
    """The same job with the release and the model of the demonstration, which are made where they are not there yet."""
    if job.places or job.anchor or job.ledger or job.key:
        raise ParameterError("--demo", "alone: without places, --ledger, --anchor and --key", ", ".join(job.places))
    release, tree = FOLDER / RELEASE, FOLDER / TREE
    is_there = (release / FACTS).exists() and (tree / MODEL).exists()
    if not is_there:
        _make(release, tree, as_json=job.as_json)
    if not job.as_json:
        told = f"found in {FOLDER}" if is_there else f"made in {FOLDER}"
        Console().print(
            f"UCI Adult, {told}: {RELEASE} answers by votes and then publishes a tree, {TREE} was published at once. "
            f"The table is public, so no account is charged. Queries to upload: {FOLDER / QUERIES}",
            highlight=False,
            soft_wrap=True,
        )
    return replace(job, places=[str(release), str(tree)], anchor=[f"{RELEASE}={FOLDER / ANCHOR}"])


def _make(release: Path, tree: Path, *, as_json: bool) -> None:
    """Whatever is missing. What a run that was stopped has left is made anew: it has answered nothing yet."""
    make_directory(FOLDER)
    adult, schema = Adult.load(), adult_schema().without(*LEFT_OUT)
    public = AssumePublic(adult.public)
    write_table(FOLDER / QUERIES, adult.asked)
    with progress(hidden=as_json) as bar:
        if not (release / FACTS).exists():
            shutil.rmtree(release, ignore_errors=True)
            (FOLDER / ANCHOR).unlink(missing_ok=True)
            votes = UniversalRelease(DecisionTrees(depth=2), epsilon=2.0, queries=300, classes=LABEL_NAMES)
            with stages(bar, "a release that answers by votes"):
                votes.fit(adult.private, adult.labels, public=public, schema=schema)
            votes.save(release, anchor=FOLDER / ANCHOR).close()
        if not (tree / MODEL).exists():
            learner = SemiPrivateLearner(DecisionTrees(depth=3), epsilon=0.5, classes=LABEL_NAMES)
            with stages(bar, "a tree that is published at once"):
                learner.fit(adult.private, adult.labels, public=public, schema=schema)
            PublishedModel.from_learner(learner).save(tree)


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr datasets`: what is bundled, and under which licence.


def run_datasets(job: Datasets) -> None:
    if job.as_json:
        print_json({"datasets": [asdict(data) for data in BUNDLED]})
        return
    for data in BUNDLED:
        Console().print(field_table(asdict(data)))
