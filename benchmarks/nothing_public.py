"""How accurate is `PrivateClassifier` with nothing public, beside the same with 2,000 public rows?

    python -m benchmarks.nothing_public [--tables adult,bank] [--epsilons .1,1] [--jobs 16] [--seconds 500]
    python -m benchmarks.nothing_public --store RUNS

δ = 10⁻⁶, replace-one, the splits of `benchmarks.classifiers` and `benchmarks.rule`. *Nothing* gets a typed frame;
*shifted* the same with every number moved by 50 of its standard deviations, in all rows; *public* the frame and at most
2,000 public rows of it. How much of the budget buys what was settled with the test rows of Adult, bank and diabetes in
view, and before any run on the other tables.

`benchmarks.classifiers` has stored the runs with public rows of its five tables. This script makes all other runs, each
in a process with one thread, and writes each as a line to `--output` when it ends. A later call goes on where this one
stopped, or was stopped by `--seconds`. `--store` replaces the stored runs of the cells in such a file by its lines, and
writes the page. Seeds, one for each table, ε, setting and run, make a run repeatable. `--pack FOLDER` writes the tables
to files that NumPy reads without other libraries, `--packed FOLDER` reads them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks import classifiers, r_tables
from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.leads import DELTA, EPSILONS
from benchmarks.pages import put_between
from benchmarks.tables import DIABETES_BY_ENCOUNTER, SOURCES, TRAIN_SHARE, set_apart
from pcqr import AssumePublic, PrivateClassifier
from pcqr.compiled import at_most
from pcqr.datasets import adult_table, load_adult
from pcqr.errors import NothingPublic

Setting = Literal["nothing", "shifted", "public"]

IN_VIEW, LARGE, HELD_OUT = ("adult", "bank", "diabetes"), ("covertype", "flights"), tuple(r_tables.HELD_OUT)
TABLES = (*IN_VIEW, *LARGE, *HELD_OUT)
SHIFT = 50.0
ENOUGH = 3_000
"""From this n·ε on there is a linear classifier beside the tree. Gaps below and above it are averaged separately."""
RESULTS = Path("benchmarks/results/nothing_public.json")
PAGE = Path("docs/classifier-results.md")
LINES = Path("out/nothing_public.jsonl")
LONG = 1e6
"""Seconds: about 11 days."""
_ORDER = ("X", "public", "X_test")

Key = tuple[str, float, Setting]


class Block(NamedTuple):
    """Cells of a full grid of tables, ε and settings, and how often each is run."""

    tables: Sequence[str]
    epsilons: Sequence[float]
    settings: Sequence[Setting]
    runs: int


BLOCKS = (
    Block(LARGE, (4.0, 1.0, 0.3, 0.1), ("nothing",), 3),
    Block(HELD_OUT, EPSILONS[::-1], ("nothing", "public"), 5),
    Block(IN_VIEW, EPSILONS[::-1], ("nothing", "shifted"), 5),
)
"""What is run, what matters most and takes longest first."""


class Job(NamedTuple):
    """One run."""

    table: str
    epsilon: float
    setting: Setting
    run: int


@dataclass(frozen=True)
class Frames:
    """Rows as typed frames that nobody has encoded, and their labels."""

    X: pd.DataFrame
    y: Any
    public: pd.DataFrame
    X_test: pd.DataFrame
    y_test: Any


@dataclass(frozen=True)
class Run:
    """What came of one run: the share of right labels, and the seconds of the fit on one thread."""

    table: str
    records: int
    epsilon: float
    setting: Setting
    run: int
    accuracy: float
    seconds: float

    @property
    def job(self) -> Job:
        return Job(self.table, self.epsilon, self.setting, self.run)


@dataclass(frozen=True)
class Case:
    """One table at one ε in one setting: the accuracies of all runs, and the seconds of the fits."""

    table: str
    records: int
    epsilon: float
    setting: Setting
    accuracy: Sequence[float]
    seconds: Sequence[float]

    @property
    def key(self) -> Key:
        return self.table, self.epsilon, self.setting


# The tables ------------------------------------------------------------------------------------------------------


def frames(name: str, folder: Path, csv: Path = Path()) -> Frames:
    """Return the rows that `benchmarks.classifiers` and `benchmarks.rule` fit, show and score."""
    if name == "adult":
        adult = load_adult()
        kinds = {column.name: float if column.kind == "numeric" else "str" for column in adult.schema.columns}
        train, rest = (pd.DataFrame(adult_table(part))[list(kinds)].astype(kinds) for part in ("train", "test"))
        public, test = set_apart(np.arange(adult.y_test.size))
        return Frames(train, adult.y_train, rest.iloc[public], rest.iloc[test], adult.y_test[test])
    if name in HELD_OUT:
        source, frame = r_tables.read(name, csv)
    else:
        source = DIABETES_BY_ENCOUNTER if name == "diabetes" else SOURCES[name]
        frame = pd.read_parquet(folder / source.file)
    y = np.asarray(source.is_one(frame[source.label]), dtype=np.int8)
    frame = frame.drop(columns=[source.label, *source.drop]) if source.keep is None else frame[list(source.keep)]
    private, rest = np.split(np.random.default_rng(0).permutation(y.size), [int(TRAIN_SHARE * y.size)])
    public, test = set_apart(rest)
    return Frames(frame.iloc[private], y[private], frame.iloc[public], frame.iloc[test], y[test])


def pack(task: Frames, path: Path) -> None:
    """Write the rows to a file that NumPy can read: texts as places in a list of texts, −1 for a gap."""
    content: dict[str, Any] = {"y": task.y, "y_test": task.y_test, "columns": np.array(list(task.X.columns))}
    rows = [getattr(task, part) for part in _ORDER]
    content["sizes"] = np.array([len(each) for each in rows])
    for place, name in enumerate(task.X.columns):
        column = pd.concat([each[name] for each in rows])
        if pd.api.types.is_numeric_dtype(column):
            content[f"numbers {place}"] = column.to_numpy()
        else:
            codes, texts = pd.factorize(column, sort=True)
            content[f"codes {place}"] = codes.astype(np.int16)
            content[f"texts {place}"] = np.array(list(texts), dtype=np.str_)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **content)


def unpack(path: Path) -> Frames:
    """Read rows that `pack` wrote."""
    with np.load(path) as content:
        columns: dict[str, Any] = {}
        for place, name in enumerate(content["columns"].tolist()):
            if f"numbers {place}" in content:
                columns[name] = content[f"numbers {place}"]
            else:
                columns[name] = np.array([*content[f"texts {place}"].tolist(), None])[content[f"codes {place}"]]
        frame, ends = pd.DataFrame(columns), np.cumsum(content["sizes"])[:-1]
        X, public, X_test = (frame.iloc[rows] for rows in np.split(np.arange(len(frame)), ends))
        return Frames(X, content["y"], public, X_test, content["y_test"])


def shifted(task: Frames) -> Frames:
    """Return the rows with every number moved by 50 standard deviations of the private rows."""
    numbers = task.X.select_dtypes("number").columns
    by = SHIFT * task.X[numbers].std()

    def moved(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**{name: rows[name] + by[name] for name in numbers})

    return replace(task, X=moved(task.X), public=moved(task.public), X_test=moved(task.X_test))


# The runs --------------------------------------------------------------------------------------------------------


def measure(job: Job, task: Frames) -> Run:
    """Fit once and score."""
    if job.setting == "shifted":
        task = shifted(task)
    shown = task.public if job.setting == "public" else None
    classifier = PrivateClassifier(job.epsilon, DELTA, entropy=seed_of(*job), classes=(0, 1))
    if shown is None and not task.X.select_dtypes(exclude="number").columns.size and task.X.isna().any(axis=None):
        classifier.set_params(types=dict.fromkeys(task.X.columns, "numeric"))  # else such a frame has no gaps
    start = time.perf_counter()
    with warnings.catch_warnings(), at_most(1):
        warnings.simplefilter("ignore", NothingPublic)
        classifier.fit(task.X, task.y, public=None if shown is None else AssumePublic(shown))
    seconds = round(time.perf_counter() - start, 3)
    right = float((classifier.predict(task.X_test) == task.y_test).mean())
    return Run(job.table, task.y.size, job.epsilon, job.setting, job.run, right, seconds)


def wanted(tables: Iterable[str], epsilons: Iterable[float], settings: Iterable[str], runs: int) -> Iterator[Job]:
    """Yield the runs of `BLOCKS` for these tables, ε and settings, at most so many for a cell, in order."""
    for block in BLOCKS:
        for run in range(min(runs, block.runs)):
            for name in (each for each in block.tables if each in tables):
                for epsilon in (each for each in block.epsilons if each in epsilons):
                    yield from (Job(name, epsilon, each, run) for each in block.settings if each in settings)


def run(given: argparse.Namespace, console: Console) -> int:
    """Make the runs that the output lacks, write each when it ends, and return how many failed."""
    done = {each.job for each in lines(given.output)}
    jobs = [job for job in wanted(given.tables, given.epsilons, given.settings, given.runs) if job not in done]
    given.output.parent.mkdir(parents=True, exist_ok=True)
    until, failed = time.monotonic() + given.seconds, 0
    tasks = [(job, given.data, given.csv, given.packed) for job in jobs]
    context = multiprocessing.get_context("spawn")
    with given.output.open("a", encoding="utf-8") as output, context.Pool(given.jobs) as pool:  # its end is theirs
        ended = pool.imap_unordered(_measured, tasks)
        for count in range(1, len(jobs) + 1):
            try:
                found = ended.next(timeout=max(until - time.monotonic(), 0.0))
            except multiprocessing.TimeoutError:
                console.print(f"Stopped after {given.seconds:g} s: {len(jobs) - count + 1:,} runs are left.")
                break
            except Exception as error:  # go on: the other runs are useful without this one
                console.print(f"A run failed: {error!r}", markup=False)
                failed += 1
                continue
            output.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
            output.flush()
            if count % 50 == 0 or count == len(jobs):
                console.print(f"{count:,} of {len(jobs):,} runs")
    return failed


def _measured(given: tuple[Job, Path, Path, Path | None]) -> Run:
    job, *places = given
    return measure(job, _loaded(job.table, *places))


@lru_cache(maxsize=3)
def _loaded(name: str, data: Path, csv: Path, packed: Path | None) -> Frames:
    return frames(name, data, csv) if packed is None else unpack(packed / f"{name}.npz")


# What is on file -------------------------------------------------------------------------------------------------


def lines(path: Path) -> list[Run]:
    """Return the runs in a file, one for each line; none if there is no file."""
    return [Run(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def cases_of(runs: Iterable[Run]) -> dict[Key, Case]:
    """Return the runs by table, ε and setting, in their order."""
    cells: dict[Key, list[Run]] = {}
    for each in sorted(runs, key=lambda run: run.run):
        cells.setdefault((each.table, each.epsilon, each.setting), []).append(each)
    return {
        key: Case(key[0], of[0].records, *key[1:], [each.accuracy for each in of], [each.seconds for each in of])
        for key, of in cells.items()
    }


def stored(root: Path) -> dict[Key, Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(cases: Mapping[Key, Case], root: Path) -> None:
    ordered = sorted(cases, key=lambda key: (TABLES.index(key[0]), key[1], get_args(Setting).index(key[2])))
    write_json(root / RESULTS, {"delta": DELTA}, [asdict(cases[key]) for key in ordered])


# The page --------------------------------------------------------------------------------------------------------

HEADER = ("table", "ε", "n·ε", "2,000 public rows (runs)", "nothing public (runs)", "difference", "shifted")


class Gap(NamedTuple):
    """How far nothing public is ahead in one cell, in points, and the standard error of the runs."""

    table: str
    n_epsilon: float
    points: float
    error: float

    def __str__(self) -> str:
        return f"{self.points:+.2f} ± {self.error:.2f}"


def gap_of(own: Case, reference: Sequence[float]) -> Gap:
    points = _percent(own.accuracy) - _percent(reference)
    return Gap(own.table, own.records * own.epsilon, points, math.hypot(_error(own.accuracy), _error(reference)))


def table(root: Path) -> str:
    """Return the rows of the page on the tables in view, from all that is on file."""
    cases, references = stored(root), classifiers.stored(root)
    rows, gaps = [], []
    for key in (key for key in cases if key[0] in IN_VIEW and key[2] == "nothing"):
        own, reference, moved = cases[key], references[key[:2]], cases.get((*key[:2], "shifted"))
        gaps.append(gap_of(own, reference.accuracy))
        shown = (_told(reference.accuracy), _told(own.accuracy), str(gaps[-1]), _mean(moved))
        rows.append((own.table, f"{own.epsilon:g}", f"{own.records * own.epsilon:,.0f}", *shown))
    return f"{markdown(HEADER, rows)}\n\n{standing(gaps)}"


def large(root: Path) -> str:
    """Return the rows of the page on the two large tables."""
    cases, references = stored(root), classifiers.stored(root)
    rows = []
    for key in (key for key in cases if key[0] in LARGE and key[2] == "nothing"):
        own, reference = cases[key], references[key[:2]]
        shown = (_told(reference.accuracy), _told(own.accuracy), str(gap_of(own, reference.accuracy)))
        rows.append((own.table, f"{own.epsilon:g}", f"{own.records * own.epsilon:,.0f}", *shown))
    return markdown(HEADER[:-1], rows)


def held_out(root: Path) -> str:
    """Return the rows of the page on the tables that were held out: a row for each, a column for each ε."""
    gaps, rows = held_out_gaps(root), []
    cases = stored(root)
    for name in dict.fromkeys(gap.table for gap in gaps.values()):
        records = next(case.records for case in cases.values() if case.table == name)
        row = [name, f"{records:,}"]
        for epsilon in EPSILONS:
            gap = gaps.get((name, epsilon))
            row.append("" if gap is None else f"{_mean(cases[name, epsilon, 'nothing'])} ({gap})")
        rows.append(row)
    header = ("question", "n", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))
    return f"{markdown(header, rows)}\n\n{standing(gaps.values())}"


def held_out_gaps(root: Path) -> dict[tuple[str, float], Gap]:
    """Return the gap of each cell of the held-out tables, by table and ε."""
    cases = stored(root)
    pairs = {key[:2]: (case, cases.get((*key[:2], "public"))) for key, case in cases.items() if key[2] == "nothing"}
    return {
        place: gap_of(own, reference.accuracy)
        for place, (own, reference) in pairs.items()
        if place[0] in HELD_OUT and reference is not None
    }


def standing(gaps: Iterable[Gap]) -> str:
    """Return the mean gap below and above n·ε = 3,000, in words, with the standard error over tables."""
    kept = list(gaps)
    parts = ([gap for gap in kept if (gap.n_epsilon >= ENOUGH) == is_enough] for is_enough in (False, True))
    low, high = (
        f"{np.mean([gap.points for gap in part]):+.2f} ± {error_over_tables(part):.2f} ({len(part)} cells)"
        for part in parts
    )
    return f"Mean difference ± standard error over tables: {low} below n·ε = {ENOUGH:,}, {high} from there on."


def error_over_tables(gaps: Sequence[Gap]) -> float:
    """Return the standard error of the mean gap: cells of one table are not independent of each other."""
    mean = float(np.mean([gap.points for gap in gaps]))
    sums: dict[str, float] = {}
    for gap in gaps:
        sums[gap.table] = sums.get(gap.table, 0.0) + gap.points - mean
    count = len(sums)
    spread = math.fsum(each * each for each in sums.values())
    return math.sqrt(spread * count / (count - 1)) / len(gaps) if count > 1 else math.nan


def _told(accuracy: Sequence[float]) -> str:
    return f"{_percent(accuracy):.2f} ({len(accuracy)})"


def _mean(case: Case | None) -> str:
    return "" if case is None else f"{_percent(case.accuracy):.2f}"


def _percent(accuracy: Sequence[float]) -> float:
    return 100.0 * float(np.mean(accuracy))


def _error(accuracy: Sequence[float]) -> float:
    return 100.0 * float(np.std(accuracy, ddof=1)) / math.sqrt(len(accuracy))


def redraw(root: Path) -> None:
    put_between(root / PAGE, "nothing public", table(root))
    put_between(root / PAGE, "nothing public, large", large(root))
    put_between(root / PAGE, "nothing public, held out", held_out(root))


def main() -> None:
    parser = parser_of("benchmarks.nothing_public", __doc__, TABLES, EPSILONS)
    parser.add_argument("--csv", type=Path, default=Path(), help="the folder of the CSV files (benchmarks.r_tables)")
    parser.add_argument("--settings", default=",".join(get_args(Setting)), help="some of them, with commas")
    parser.add_argument("--runs", type=int, default=5, help="the most of a cell")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=LONG, help="after which to stop")
    parser.add_argument("--output", type=Path, default=LINES, help="the file that runs are added to")
    parser.add_argument("--pack", type=Path, help="write the tables to this folder, and nothing else")
    parser.add_argument("--packed", type=Path, help="read the tables from such a folder")
    parser.add_argument("--store", type=Path, help="store the runs of this file, and write the page")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    given = parser.parse_args()
    given.settings = given.settings.split(",")
    root = Path()
    if given.pack is not None:
        for name in given.tables:
            pack(frames(name, given.data, given.csv), given.pack / f"{name}.npz")
    elif given.store is not None or given.redraw:
        found = [] if given.store is None else lines(given.store)
        store(stored(root) | cases_of(found), root)
        redraw(root)
    elif run(given, wide_console()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
