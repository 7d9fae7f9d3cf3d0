"""The options of `pcqr bench`, as they are typed."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import typer

from pcqr.bench.methods import ENVIRONMENTS, KNOWN, chosen, default_folder, install, python_of
from pcqr.bench.report import Comparison, draw, markdown, methods, needed
from pcqr.bench.running import Run, Runs, write_results
from pcqr.bench.tables import Task, load, own
from pcqr.checks import check_delta
from pcqr.cli.console import Signals, draw_into, make_directory, naming, print_json
from pcqr.cli.inputs import declared_schema
from pcqr.cli.jobs import Bench
from pcqr.errors import ParameterError
from pcqr.files import write_whole

# ---------------------------------------------------------------------------------------------------------------------
# `pcqr bench`: every system beside us, on the same data, in the same run.


T = TypeVar("T")


def run(job: Bench) -> None:
    environments = default_folder() if job.environments is None else job.environments
    if job.list_methods:
        _list(environments, as_json=job.as_json)
        return
    if job.install is not None:
        _install(job.install, environments, as_json=job.as_json)
        return
    comparison = _comparison(job, environments)
    tables = _tables(job)
    make_directory(job.out)
    runs = Runs(job.out)
    with Signals():
        found = comparison.made(tables, runs, _tell)
    written = _write(job.out, found)
    if job.as_json:
        print_json(written | {"runs": len(found), "failed": sum(run.failed is not None for run in found)})
    else:
        typer.echo(markdown(found))
        typer.echo("\n".join(f"{what}: {where}" for what, where in written.items()))


def _comparison(job: Bench, environments: Path) -> Comparison:
    epsilons = sorted(set(_parsed(job.epsilons, float, "--epsilons", "numbers, e.g. '0.1,1'")))
    for epsilon in epsilons:
        if not 0.0 < epsilon < math.inf:
            raise ParameterError("--epsilons", "positive numbers", epsilon)
    check_delta(job.delta)
    seeds: list[int] = list(range(job.runs))
    if job.seeds is not None:
        seeds = list(dict.fromkeys(_parsed(job.seeds, int, "--seeds", "integers from 0 on, e.g. '3,4'")))
    if min(seeds) < 0:
        raise ParameterError("--seeds", "integers from 0 on", job.seeds)
    names = [] if job.methods is None else [name.strip() for name in job.methods.split(",")]
    return Comparison(
        methods=chosen(names, job.method),
        epsilons=epsilons,
        delta=job.delta,
        queries=job.queries,
        seeds=seeds,
        environments=environments,
        time_limit=job.time_limit,
        public_rows=job.public_rows,
        again=job.again,
        retry=job.retry,
        show_errors=job.show_errors,
    )


def _parsed(text: str, kind: Callable[[str], T], option: str, allowed: str) -> list[T]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(option, allowed, text) from None


def _tables(job: Bench) -> list[tuple[Task, str]]:
    """The tables, each with the options that name it again."""
    found = []
    if job.table is not None:
        found.append((_own(job), _own_options(job)))
    for option, given in (("--label", job.label), ("--groups", job.groups)):
        if job.table is None and given is not None:
            raise ParameterError(option, "given with --table alone", given)
    if job.tables is not None or job.table is None:
        data = "" if job.data is None else f" --data {shlex.quote(str(job.data))}"
        names = dict.fromkeys(name.strip() for name in (job.tables or "adult").split(","))
        found += [(load(name, job.data, job.public_rows), f"--tables {name}{data}") for name in names]
    if len({task.name for task, _ in found}) < len(found):
        raise ParameterError("--table", "a file whose name is not one of --tables", str(job.table))
    return found


def _own(job: Bench) -> Task:
    if job.table is None or job.label is None:
        raise ParameterError("--label", "the column of --table that holds the label", job.label)
    if job.schema is not None and job.public_rows == 0:
        raise ParameterError("--schema", "left out with --public-rows 0: nothing is public then", str(job.schema))
    schema = None if job.schema is None else declared_schema(job.schema)
    labels = None if job.labels is None else [name.strip() for name in job.labels.split(",")]
    with naming(path="--table"):
        options: dict[str, Any] = {"user": job.groups, "schema": schema, "public_rows": job.public_rows}
        return own(job.table, job.label, labels=labels, drop=job.drop, **options)


def _own_options(job: Bench) -> str:
    words = ["--table", str(job.table), "--label", str(job.label)]
    words += [] if job.labels is None else ["--labels", job.labels]
    words += [word for name in job.drop for word in ("--drop", name)]
    words += [] if job.groups is None else ["--groups", job.groups]
    words += [] if job.schema is None else ["--schema", str(job.schema)]
    return shlex.join(words)


def _tell(number: int, total: int, run: Run) -> None:
    """A line a run, on standard error."""
    cell = run.cell
    epsilon = f"ε = {cell.epsilon:g}" if cell.epsilon else "no ε"
    told = run.failed or f"{100 * (run.accuracy or 0.0):.2f} % right, {100 * (run.answered or 0.0):.0f} % answered"
    seconds = "" if run.fit_seconds is None else f", {run.fit_seconds + (run.label_seconds or 0.0):.1f} s"
    words = f"{number} of {total}: {cell.table}, {epsilon}, {cell.method}, seed {cell.seed}: {told}{seconds}"
    print(words, file=sys.stderr, flush=True)


def _write(out: Path, found: list[Run]) -> dict[str, Any]:
    write_results(out / "results.json", found)
    write_whole(out / "table.md", markdown(found))
    picture, _ = draw_into(out / "accuracy.png", lambda draft: draw(draft, found))
    files = {"results": out / "results.json", "table": out / "table.md", "picture": picture}
    return {what: str(where) for what, where in files.items() if where is not None}


def _list(environments: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"methods": [asdict(each) | {"needs": each.needs} for each in KNOWN.values()]})
        return
    typer.echo("\n".join(methods(KNOWN.values())))
    typer.echo(
        "\nWhat has to be public besides the columns and their kinds (--public-rows 0 runs those that need nothing):"
    )
    typer.echo("\n".join([*needed(KNOWN.values()), ""]))
    made = {name: python_of(name, environments) is not None for name in ENVIRONMENTS}
    told = [f"{name} ({'made' if there else f'pcqr bench --install {name}'})" for name, there in made.items()]
    typer.echo(f"Environments: {', '.join(told)}.")


def _install(name: str, environments: Path, *, as_json: bool) -> None:
    python = install(name, environments)
    if as_json:
        print_json({"environment": name, "python": str(python)})
    else:
        typer.echo(f"{name}: {python}")
