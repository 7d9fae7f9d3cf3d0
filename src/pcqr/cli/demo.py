"""`pcqr demo`: the main job on UCI Adult, beside what it is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from pcqr import BudgetExhausted, SubsampleAggregate, UniversalRelease
from pcqr.cli.console import field_table, make_directory, print_json, progress
from pcqr.cli.demo_picture import draw
from pcqr.cli.words import KINDS, plan_lines, promise
from pcqr.datasets import Dataset, load_adult
from pcqr.errors import MissingExtra
from pcqr.files import replacing
from pcqr.hypotheses import Stumps
from pcqr.hypotheses.stumps import Stump

EPSILON, DELTA = 2.0, 1e-6


@dataclass(frozen=True)
class Sizes:
    """How many queries are asked, and after how many of them the universal release publishes."""

    queries: int
    voted: int


FULL, FAST = Sizes(queries=1500, voted=300), Sizes(queries=300, voted=100)


@dataclass(frozen=True)
class Trace:
    """One method on the queries in their order: 1 for right, 0 for wrong, ½ where no label came.

    `kinds` says how each answer came about; it is empty for a method that just predicts.
    """

    name: str
    correct: NDArray[np.float64]
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


def run(out: Path, *, fast: bool, as_json: bool) -> None:
    """Answer the first test records of Adult by a universal release and, to compare, by SubSamp at the same ε."""
    sizes = FAST if fast else FULL
    make_directory(out)
    data = load_adult()
    universal = UniversalRelease(hypotheses=Stumps(), epsilon=EPSILON, delta=DELTA, queries=sizes.voted)
    subsamp = SubsampleAggregate(hypotheses=Stumps(), epsilon=EPSILON, delta=DELTA, queries=sizes.queries)
    if not as_json:
        Console().print(
            f"UCI Adult: {data.X_train.shape[0]:,} private records. Of {sizes.queries:,} other people we ask, one at a "
            "time: does this person earn over 50,000 dollars a year?\n",
            highlight=False,
        )
    with progress(hidden=as_json) as bar:
        traces = (
            _asked("universal release", universal, data, sizes, bar),
            _asked("SubSamp", subsamp, data, sizes, bar),
            _predicted("best stump, not private", Stumps().learn(data.X_train, data.y_train), data, sizes),
            _predicted(f"always {data.label_names[0]}", Stump(0, np.inf, True, data.X_test.shape[1]), data, sizes),
        )
    picture: Path | None = out / "demo.png"
    notice = f"Picture: {picture}"
    try:
        with replacing(out / "demo.png") as draft:
            draw(draft, traces, epsilon=EPSILON, delta=DELTA)
    except MissingExtra as missing:
        picture, notice = None, f"No picture. {missing}"
    if as_json:
        print_json(_summary(data, universal, traces) | {"picture": None if picture is None else str(picture)})
    else:
        _print(data, universal, traces, notice)


def _asked(
    name: str, release: UniversalRelease | SubsampleAggregate, data: Dataset, sizes: Sizes, bar: Progress
) -> Trace:
    task = bar.add_task(f"{name}: planning and fitting", total=sizes.queries)
    release.fit(data.X_train, data.y_train)
    bar.update(task, description=f"{name}: answering")
    correct = np.full(sizes.queries, 0.5)
    kinds = []
    for row in range(sizes.queries):
        try:
            answer = release.answer(data.X_test[row])
        except BudgetExhausted:
            kinds.append("unanswered")
        else:
            kinds.append(answer.kind)
            if answer.label is not None:
                correct[row] = answer.label == data.y_test[row]
        bar.advance(task)
    return Trace(name, correct, tuple(kinds))


def _predicted(name: str, stump: Stump, data: Dataset, sizes: Sizes) -> Trace:
    right = stump.predict(data.X_test[: sizes.queries]) == data.y_test[: sizes.queries]
    return Trace(name, right.astype(np.float64))


def _rule(release: UniversalRelease, data: Dataset) -> str:
    """The published classifier in words."""
    stump = cast(Stump, release.hypothesis_)
    negative, positive = data.label_names
    if np.isinf(stump.cut):
        return f"always {positive if (stump.cut < 0) == stump.above else negative}"
    comparison = ">" if stump.above else "≤"
    return f"{positive} where {data.feature_names[stump.feature]} {comparison} {stump.cut:g}, else {negative}"


def _spent(release: UniversalRelease) -> str:
    plan = release.plan_
    allowed = plan.vote.sparse_vector.unstable
    return (
        f"ε = {plan.epsilon:g} and δ = {plan.delta:g}, charged whole at fit; {release.queries_answered_:,} votes and "
        f"{allowed - release.unstable_left_:,} of {allowed:,} unstable answers. Further answers cost nothing."
    )


def _summary(data: Dataset, release: UniversalRelease, traces: Sequence[Trace]) -> dict[str, Any]:
    return {
        "promise": promise(release.guarantee_, data.X_train.shape[0]),
        "guarantee": asdict(release.guarantee_),
        "records": data.X_train.shape[0],
        "queries": traces[0].correct.size,
        "plan": asdict(release.plan_),
        "published": _rule(release, data),
        "methods": {
            trace.name: {"accuracy": trace.accuracy} | ({"counts": trace.counts} if trace.kinds else {})
            for trace in traces
        },
    }


def _print(data: Dataset, release: UniversalRelease, traces: Sequence[Trace], notice: str) -> None:
    console = Console()
    console.print(
        field_table(
            {"guarantee": promise(release.guarantee_, data.X_train.shape[0])}
            | plan_lines(release.plan_)
            | {"spent": _spent(release), "published": _rule(release, data)}
        )
    )
    console.print(_comparison(traces))
    console.print(notice, highlight=False, markup=False, soft_wrap=True)


def _comparison(traces: Sequence[Trace]) -> Table:
    caption = "A query without a label counts as half right. SubSamp was planned for all the queries."
    table = Table(caption=caption, caption_justify="left")
    table.add_column("")
    for trace in traces:
        table.add_column(trace.name, justify="right")
    table.add_row("accuracy", *(f"{trace.accuracy:.1%}" for trace in traces), style="bold")
    for kind in KINDS:
        if any(trace.counts[kind] for trace in traces):
            table.add_row(kind, *(f"{trace.counts[kind]:,}" if trace.kinds else "" for trace in traces))
    return table
