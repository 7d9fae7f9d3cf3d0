"""How accurate is `PrivateClassifier(method="auto")`, beside logistic regression and a network by DP-SGD?

    python -m benchmarks.classifiers --data FOLDER [--tables adult,bank,…] [--epsilons .1,1] [--again] [--redraw]

All on the same rows, δ = 10⁻⁶, replace-one; splits: `benchmarks.tables`. Only ours runs here, and has no setting but
what `auto` makes of public numbers. The peers are those of `benchmarks.dp_sgd`, tuned for each table and ε by itself,
by accuracy on the test rows: in their favour. Their figures are on file, and for each test row how many of their runs
had it right; so are ours, and the standard error that the test rows make of a lead is paired.

Every run is stored when it ends. A later run goes on where this one stopped, and does anew what `--again` names. Then
the table of docs/classifier-results.md, what docs/classifiers.md says of the peers, and its picture are made from all
that is on file (`--redraw`: nothing else). Seeds, one for each table, ε and run, make it repeatable.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import dp_sgd, limits, trees
from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.leads import DELTA, EPSILONS, Key, Peer, Runs, lead, lines, read_counts, write_counts
from benchmarks.pages import put_between
from benchmarks.tables import PUBLIC, QUESTIONS, TABLES, Task, load
from pcqr import PrivateClassifier
from pcqr.plotting.axes import (
    BODY,
    DASH_DOT,
    DASHED,
    DOTTED,
    INK,
    MUTED,
    NAME,
    ON_ACCURACY,
    OTHERS,
    PLAIN,
    PUBLISHED,
    SMALL,
    THIN,
    VOTES,
    draw_without_privacy,
    entitle,
    mark_epsilons,
    mark_in_percent,
    picture,
    tidy,
)
from pcqr.releases.classifier.rule import Construction, choose

RUNS, FEWEST_RUNS = {"adult": 20, "bank": 20, "diabetes": 10}, 5
RESULTS = Path("benchmarks/results/classifiers.json")
ROWS = Path("benchmarks/results/classifiers_rows.npz")
PAGE, SUMMARY = Path("docs/classifier-results.md"), Path("docs/classifiers.md")
PICTURE = Path("docs/images/classifiers.png")


@dataclass(frozen=True)
class Case:
    """One table at one ε: what `auto` chose, and the accuracies of all its runs.

    `seconds` are those of the fits; `load` is the machine's load average before the first: much above 0, and the
    seconds are too many.
    """

    table: str
    records: int
    epsilon: float
    majority: float
    method: str
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float

    @property
    def key(self) -> Key:
        return self.table, self.epsilon


def named(chosen: Construction) -> str:
    """Return what is published, for a cell of the table."""
    parts = ["tree"] * chosen.has_tree + ["linear"] * bool(chosen.maps)
    return " and ".join(parts) + (", ferns" if "some ferns" in chosen.maps else "")


def measure(task: Task, epsilon: float, root: Path) -> Case:
    """Go on with the runs on file until there are enough."""
    method = named(choose(task.y.size, epsilon))
    begun = Case(task.name, task.y.size, epsilon, task.majority, method, (), (), os.getloadavg()[0])
    case = stored(root).get(begun.key, begun) if begun.key in read_counts(root / ROWS) else begun
    for run in range(len(case.accuracy), RUNS.get(task.name, FEWEST_RUNS)):
        start = time.perf_counter()
        classifier = PrivateClassifier(epsilon, DELTA, entropy=seed_of(*case.key, run), classes=(0, 1))
        classifier.fit(task.X, task.y, public=task.public)
        seconds = time.perf_counter() - start
        right = classifier.predict(task.X_test) == task.y_test
        case = replace(case, accuracy=(*case.accuracy, float(right.mean())), seconds=(*case.seconds, round(seconds, 3)))
        counts = read_counts(root / ROWS)
        earlier = counts[case.key] if run else np.zeros(right.size, dtype=np.uint8)
        write_counts(root / ROWS, counts | {case.key: earlier + right})
        store(stored(root) | {case.key: case}, root)
    return case


def forget(key: Key, root: Path) -> None:
    """Take what is on file of ours, so that it is measured anew."""
    store({other: case for other, case in stored(root).items() if other != key}, root)
    write_counts(root / ROWS, {other: counts for other, counts in read_counts(root / ROWS).items() if other != key})


def stored(root: Path) -> dict[Key, Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(cases: Mapping[Key, Case], root: Path) -> None:
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(root / RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def ours(root: Path) -> dict[Key, Runs]:
    return _runs({key: case.accuracy for key, case in stored(root).items()}, root / ROWS)


def peers(root: Path) -> list[Peer]:
    return [
        Peer(name, _runs({key: case.accuracy for key, case in dp_sgd.stored(root, name).items()}, root / rows))
        for name, rows in dp_sgd.ROWS.items()
    ]


def _runs(accuracy: Mapping[Key, Sequence[float]], rows: Path) -> dict[Key, Runs]:
    counts = read_counts(rows)
    return {key: Runs(values, counts.get(key)) for key, values in accuracy.items()}


HEADER = (
    *("table", "ε", "n·ε", "`auto` publishes", "accuracy (runs)"),
    *("logistic regression (runs)", "lead on it", "network (runs)", "lead on it"),
)


def table(root: Path) -> str:
    """The rows of docs/classifiers.md, from the results under `root`; a field is empty where nothing is on file."""
    cases, own, others = stored(root), ours(root), peers(root)
    records = {case.table: case.records for case in dp_sgd.stored(root, "the network").values()}
    rows = []
    for name, epsilon in ((name, epsilon) for name in TABLES if name in records for epsilon in EPSILONS):
        key = name, epsilon
        mine = own.get(key)
        rows.append(
            [
                name,
                f"{epsilon:g}",
                f"{records[name] * epsilon:,.0f}",
                cases[key].method if key in cases else "",
                f"**{mine.mean:.2f}** ±{mine.error:.2f} ({mine.count})" if mine else "",
            ]
        )
        for peer in others:
            runs = peer.runs.get(key)
            rows[-1].append(f"{runs.mean:.2f} ±{runs.error:.2f} ({runs.count})" if runs else "")
            rows[-1].append(f"{lead(mine, runs)}" if mine and runs else "")
    return markdown(HEADER, rows)


def standing(root: Path) -> str:
    """What the table says, in words: where a peer is ahead."""
    without = ", ".join(f"{name} {100 * value:.1f}" for name, value in without_privacy(root).items())
    return "\n".join(
        [
            *lines(ours(root), peers(root)),
            f"- Without privacy, by gradient boosting: {without}.",
        ]
    )


def without_privacy(root: Path) -> dict[str, float]:
    """The accuracy of gradient boosting, on the same columns and test rows: the best of all settings on file."""
    found = {name: case.accuracy for name, case in limits.stored(root).items()}
    for case in read_cases(root / trees.RESULTS, trees.Case.of):
        found[case.table] = max(found.get(case.table, 0.0), case.gradient_boosting)
    return {name: found[name] for name in TABLES if name in found}


# The picture -----------------------------------------------------------------------------------------------------

MARKERS = {"tree": "^", "tree and linear": "s", "tree and linear, ferns": "o"}
WORDS = {
    "tree": "one exact tree",
    "tree and linear": "a linear classifier beside a tree",
    "tree and linear, ferns": "the same, with random ferns",
}
STYLES = ((OTHERS, DASH_DOT), (VOTES, DOTTED))
"""Of the peers."""
PEERS = ("logistic regression by DP-SGD", "network by DP-SGD")
PICKED = "settings picked for each\npoint on the test rows"
NOTES = (f"public predicates; {PICKED}", f"two layers of 128; {PICKED}")
LIMIT = "on the same columns and rows"
NOTE = "δ = 10⁻⁶, replace one record.\nBars: standard error of the runs."


def draw(cases: Sequence[Case], peers: Sequence[Peer], limits: Mapping[str, float], path: Path) -> None:
    """`limits`: the accuracy of gradient boosting without privacy, by table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(case.table for case in cases))
    with picture(path, 12.5, 7.2) as figure:
        panels = figure.subplot_mosaic("abc;del", gridspec_kw={"hspace": 0.08})
        for place, name in zip("abcde", names, strict=False):
            _panel(panels[place], [case for case in cases if case.table == name], peers, limits[name])
        for place in "abcde"[len(names) :]:
            panels[place].axis("off")
        for place in "ad":
            panels[place].set_ylabel(ON_ACCURACY)
        _legend(panels["l"], {case.method for case in cases})


def _panel(axes: Any, cases: Sequence[Case], peers: Sequence[Peer], limit: float) -> None:
    name = cases[0].table
    draw_without_privacy(axes, limit)
    for peer, (colour, style) in zip(peers, STYLES, strict=True):
        _line(axes, {epsilon: runs for (table, epsilon), runs in peer.runs.items() if table == name}, colour, style)
    ours = {case.epsilon: Runs(case.accuracy, None) for case in cases}
    _line(axes, ours, PUBLISHED, "-")
    for case in cases:
        place, marker = (case.epsilon, ours[case.epsilon].mean / 100.0), MARKERS[case.method]
        axes.plot(*place, color=PUBLISHED, marker=marker, markersize=7.5, zorder=4)
    axes.margins(x=0.08, y=0.1)
    mark_epsilons(
        axes, sorted(ours.keys() | {epsilon for peer in peers for table, epsilon in peer.runs if table == name})
    )
    mark_in_percent(axes.yaxis)
    tidy(axes)
    title, _, question = QUESTIONS[name].partition(": ")
    entitle(axes, title, f"{question} ({100 * cases[0].majority:.1f} % alike) · {cases[0].records:,} records")


def _line(axes: Any, runs: Mapping[float, Runs], colour: str, style: Any) -> None:
    axes.errorbar(
        list(runs),
        [each.mean / 100.0 for each in runs.values()],
        [each.error / 100.0 for each in runs.values()],
        color=colour,
        linewidth=PLAIN,
        linestyle=style,
        elinewidth=THIN,
        capsize=2.5,
    )


def _legend(axes: Any, methods: set[str]) -> None:
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.text(0.0, 0.95, 'PrivateClassifier(method="auto")', color=PUBLISHED, fontweight="bold", fontsize=NAME)
    height = 0.95
    for method in (each for each in MARKERS if each in methods):
        height -= 0.075
        axes.plot(
            [0.0, 0.06, 0.12],
            [height] * 3,
            color=PUBLISHED,
            linewidth=PLAIN,
            marker=MARKERS[method],
            markevery=[1],
            markersize=7.5,
        )
        axes.text(0.16, height, WORDS[method], va="center", fontsize=BODY)
    height -= 0.03
    for name, note, colour, style in (
        *((name, note, *style) for name, note, style in zip(PEERS, NOTES, STYLES, strict=True)),
        ("boosting without privacy", LIMIT, INK, DASHED),
    ):
        height -= 0.1
        axes.plot([0.0, 0.12], [height] * 2, color=colour, linewidth=PLAIN, linestyle=style)
        axes.text(0.16, height, name, va="center", color=colour, fontweight="bold", fontsize=NAME)
        axes.text(0.16, height - 0.035, note, va="top", fontsize=SMALL, linespacing=1.35)
        height -= 0.05 + 0.05 * note.count("\n")
    axes.text(0.0, height - 0.07, NOTE, va="top", fontsize=SMALL, linespacing=1.35, color=MUTED)


def main() -> None:
    parser = parser_of("benchmarks.classifiers", __doc__, TABLES, EPSILONS)
    parser.add_argument("--again", action="store_true", help="forget what is on file of these tables and ε")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page and the picture again")
    given = parser.parse_args()
    console, root = wide_console(), Path()
    for name in () if given.redraw else given.tables:
        task = load(name, given.data)
        for epsilon in given.epsilons:
            if given.again:
                forget((name, epsilon), root)
            case = measure(task, epsilon, root)
            figures = f"{100 * np.mean(case.accuracy):.2f}  {min(case.seconds):.1f} s a fit"
            console.print(f"{name}  {epsilon:g}  {case.method}  {figures}", highlight=False)
    put_between(root / PAGE, "accuracy", table(root))
    put_between(root / SUMMARY, "standing", standing(root))
    draw(list(stored(root).values()), peers(root), without_privacy(root), root / PICTURE)
    console.print(table(root), markup=False, highlight=False, soft_wrap=True)
    console.print(standing(root), markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
