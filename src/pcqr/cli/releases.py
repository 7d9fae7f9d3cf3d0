"""A release from the options of a command; answers and models on their way to files; status and export."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EEXIST
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr import UniversalRelease, registry
from pcqr import release as releases
from pcqr.cli.console import (
    FROM_OUTSIDE,
    STOPPED,
    Signals,
    complain,
    field_table,
    give_up_output,
    make_directory,
    print_json,
    progress,
    reason,
    warn_if_together,
)
from pcqr.cli.inputs import Shown
from pcqr.cli.jobs import Ask, Export, Fit, Status
from pcqr.cli.options import Voting
from pcqr.client.wire import is_address
from pcqr.data.schema import Schema
from pcqr.data.schema.schema import decoded
from pcqr.data.schema.table import csv_line
from pcqr.datasets.tables import table_size, write_table
from pcqr.durable.directory import Kept, find
from pcqr.durable.facts import Facts
from pcqr.durable.ledger.opening import written_place
from pcqr.errors import OutputExists, ParameterError, PcqrError
from pcqr.files import InUse, Journal, check_not_input, check_output, check_outside_releases, real, write_whole
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass
from pcqr.models import PublishedModel
from pcqr.models.published import FILES, MODEL, Saved, holds_model
from pcqr.releases.base.answering import Release
from pcqr.releases.base.inputs import plain_name
from pcqr.releases.protocol.answers import Usage, counted
from pcqr.releases.transfer import GUARANTEE, READING, TRANSCRIPT, Reading
from pcqr.releases.words import guarantee_facts, plan_facts, plan_lines, promise


def made_release(job: Voting, shown: Shown, queries: int, names: Sequence[Any]) -> Release[Any]:
    """The release, planned for so many queries. Labels are among `names`, and any other is refused."""
    release: Release[Any] = registry.resolve(job.by.estimator)(
        hypotheses=_hypotheses(job, shown),
        epsilon=job.epsilon,
        delta=job.delta,
        queries=queries,
        alpha=job.alpha,
        beta=job.beta,
        entropy=job.seed,
        classes=tuple(names),
    )
    release.set_params(**_of_its_own(job, release))
    return release


def files_of(job: Ask | Export) -> list[Path]:
    """What a release that is kept is read from: no output may be there. None of it is here where a server has it."""
    if is_address(str(job.place)):
        return []
    key = job.key if isinstance(job, Ask) else None
    given = (job.place, job.anchor, job.ledger, key and key.removeprefix("file:"))
    return [Path(each) for each in given if each is not None]


def found_again(place: str | Path, *, ledger: str | None, anchor: Path | None, key: str | None = None) -> str:
    """Return the place of a release and its options, quoted for a shell, without a password."""
    where = None if ledger is None else written_place(ledger)
    given = (("--ledger", where), ("--anchor", anchor), ("--key", key))
    options = [f" {option} {shlex.quote(str(value))}" for option, value in given if value is not None]
    return shlex.quote(str(place)) + "".join(options)


def most_labels(job: Voting) -> int:
    """How many labels the algorithm takes."""
    estimator: type[Release[Any]] = registry.resolve(job.by.estimator)
    return MOST_LABELS if estimator.two_labels_because is None else 2


def _of_its_own(job: Voting, release: Release[Any]) -> dict[str, str]:
    """The options that not every release has. One that was given, and that this one lacks, is refused."""
    has = release.get_params()
    given = (
        ("mode", job.mode, "calibrated"),
        ("on_unstable", job.on_unstable, "abstain"),
        ("vote", job.vote, "auto"),
        ("shows", job.shows if isinstance(job, Fit) else "classifier", "classifier"),
    )
    for name, value, default in given:
        if name not in has and value != default:
            raise ParameterError(f"--{name.replace('_', '-')}", f"left out for --algorithm {job.by.option}", value)
    return {name: value for name, value, _ in given if name in has}


def _hypotheses(job: Voting, shown: Shown) -> HypothesisClass:
    family = job.family
    if job.depth is not None and "depth" not in family.parameters:
        raise ParameterError("--depth", "left out, but for --class trees", job.depth)
    if family.needs_public and job.public is None and job.schema is None:
        raise ParameterError(
            "--class", "one that needs no public questions, unless --public or --schema is given", family.option
        )
    hypotheses: HypothesisClass = family.made(intervals=job.intervals, depth=job.depth)
    return hypotheses.prepared(shown.public, shown.schema) if family.needs_public else hypotheses


# ---------------------------------------------------------------------------------------------------------------------
# Answers on their way to a file: on disk before they are shown, and kept however the run ends.
#
# While a run goes on, its answers are in `FILE.part.csv` beside the output, a line for each query. When the last query
# has been asked, the output takes its place. So the output is always whole, and what a stopped run has given is in a
# file that any program reads. Nothing else is written there: no record, no vote, no time.


COLUMNS = ("row", "label", "kind")
WAIT = 0.05
"""Seconds for which answers may wait to be shown, so that one wait for the disk serves several."""


@dataclass(frozen=True)
class Price:
    """What a run costs, whole, whatever becomes of it."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"ε = {self.epsilon:.12g} and δ = {self.delta:.12g}"

    @property
    def again(self) -> str:
        return f"A new run is a new release and costs {self} again."


def part_of(out: Path) -> Path:
    """Where the answers are while they come: beside the file that `out` is, or points to."""
    place = real(out) if out.is_symlink() else out
    return place.with_name(f"{place.name}.part.csv")


def check_answers(out: Path, inputs: Sequence[Path], price: Price, *, overwrite: bool) -> None:
    """Raise unless the answers may go to `out`: it is no input and, but for `overwrite`, does not exist."""
    for place in (out, part_of(out)):
        check_output(place, inputs=inputs, overwrite=True)
    if os.path.lexists(out) and not overwrite:
        raise OutputExists(out, _rows_in(out), cost=price.again)
    check_replaced(out, COLUMNS)
    check_part(out)


def check_replaced(out: Path, columns: Sequence[str], *, what: str = "answers") -> None:
    """Raise unless `out` does not exist, is empty, or begins with `columns`, as the table of an earlier run does."""
    if not out.exists() or not out.stat().st_size:
        return
    try:
        found = table_size(out)[0]
    except PcqrError:
        found = ()
    if tuple(found[: len(columns)]) != tuple(columns):
        allowed = f"a new file, or, with --overwrite, one with {what} of an earlier run"
        raise ParameterError("--out", allowed, f"{out}, which holds something else")


def check_part(out: Path) -> None:
    """Raise if the file beside `--out` that holds the answers during a run is a file of another kind."""
    part, header = part_of(out), ",".join(COLUMNS).encode()
    if part.exists():
        with part.open("rb") as file:
            begins = file.read(len(header))
        if not header.startswith(begins):
            raise ParameterError("--out", f"another file: {part.name} beside it would be replaced", str(out))


class Answers:
    """The answers of one run, in the order of the queries."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.asked = 0
        self.labels: list[Any] = []
        self.kinds: list[str] = []
        self.finished: Path | None = None
        self.beside = ""
        """What else was kept, to be said when the run ends early."""
        self.charged: Callable[[], str] = str
        """What the run has been charged so far, in a sentence, to be said then, too."""
        self._signals = Signals()
        self._show = False

    def begin(self, signals: Signals, asked: int, *, show: bool) -> None:
        """The release is fitted: what comes now is paid for."""
        self._signals, self.asked, self._show = signals, asked, show
        self.journal.begin(header := ",".join(COLUMNS))
        if show:
            typer.echo(header)

    def give(self, label: Any, kind: str) -> int:
        """One more answer, whatever it is: written at once, shown when it is on disk. Returns how many are there."""
        with self._signals.held():
            self.labels.append(label)
            self.kinds.append(kind)
            self.journal.append(csv_line((len(self.kinds), label, kind)))
            if self.journal.age >= WAIT:
                self._sync()
        return self.journal.lines

    def finish(self, out: Path, *, overwrite: bool) -> None:
        """Every query was asked: the output takes the place of the lines."""
        with self._signals.held():
            self._sync()
            if os.path.lexists(out) and not overwrite:
                raise FileExistsError(EEXIST, f"{out} has appeared meanwhile")
            if out.name.lower().endswith(".csv"):
                self.journal.become(out)
            else:
                table = (range(1, self.asked + 1), self.labels, self.kinds)
                write_table(out, dict(zip(COLUMNS, table, strict=True)))
                self.journal.remove()
            self.finished = out

    def _sync(self) -> None:
        for line in self.journal.sync():
            if self._show:
                typer.echo(line)


@contextmanager
def answers_beside(out: Path, price: Price, *, overwrite: bool, as_json: bool) -> Iterator[Answers]:
    """The answers that will be in `out`. Should the block end early, say in a sentence what was kept, and exit."""
    try:
        journal = Journal(part_of(out))
    except InUse:
        raise ParameterError("--out", "a file that no other run is writing to", str(out)) from None
    except OSError as error:
        told = f"{out} ({error.strerror})"
        raise ParameterError("--out", "a file in an existing directory that can be written to", told) from None
    answers = Answers(journal)
    try:
        if os.path.lexists(out) and not overwrite:  # another run may have finished since that was checked
            raise OutputExists(out, _rows_in(out), cost=price.again)
        remains = journal.remains()
        if (remains.lines or remains.is_torn) and not overwrite:
            torn = ", and a torn line that does not count" if remains.is_torn else ""
            holds = f"{remains.lines:,} answers that a run gave before it was stopped{torn}"
            raise OutputExists(part_of(out), holds, cost=price.again)
        yield answers
    except BaseException as cause:
        is_refusal = isinstance(cause, PcqrError) and not journal.has_begun
        if is_refusal or isinstance(cause, typer.Exit):
            raise
        with suppress(OSError):
            journal.sync()
        _say_what_was_kept(answers, price, cause, as_json=as_json)
        if isinstance(cause, FROM_OUTSIDE):
            raise typer.Exit(STOPPED) from None
        raise  # a fault of pcqr
    finally:
        journal.close()


def _say_what_was_kept(answers: Answers, price: Price, cause: BaseException, *, as_json: bool) -> None:
    given, path = answers.journal.lines, answers.journal.path
    if answers.finished is not None:
        kept = f"All {answers.asked:,} answers are in {answers.finished}."
    elif not answers.journal.has_begun:
        kept = "No answer was given, and nothing is written."
    elif given == answers.asked:
        kept = f"All {given:,} answers are in {path}."
    else:
        kept = f"{given:,} of {answers.asked:,} answers were given and are in {path}. {price.again}"
    message = f"{reason(cause)}. {kept}{answers.beside} {answers.charged()}".rstrip()
    if isinstance(cause, BrokenPipeError):
        give_up_output()
        complain(message)
    elif as_json:
        fields = {"type": type(cause).__name__, "message": message, "given": given, "asked": answers.asked}
        print_json({"error": fields | {"file": str(answers.finished or path)}})
    else:
        complain(message)


def _rows_in(out: Path) -> str:
    try:
        return f"{table_size(out)[1]:,} rows"
    except PcqrError:
        return ""


# ---------------------------------------------------------------------------------------------------------------------
# `pcqr status` and `pcqr export`: the public part of a release that is kept, beside a running writer too.


MODEL_FOLDER = "model"


def run_status(job: Status) -> None:
    """Print what is promised, spent and remaining. With --verify, check the whole chain."""
    with _reading(job) as kept:
        facts, state, ledger = kept.facts, kept.log.state, kept.log.ledger
        if job.verify:
            with progress(hidden=job.as_json) as bar:
                task = bar.add_task("checking", total=ledger.last.seq)
                ledger.verify(lambda done, _: bar.update(task, completed=done))
        plan, confirmed, adoptions = (
            replace(facts.plan, guarantee=kept.guarantee),
            ledger.is_confirmed,
            ledger.adoptions,
        )
        if job.as_json:
            print_json(
                guarantee_facts(plan.guarantee, facts.records)
                | {
                    "algorithm": facts.algorithm,
                    "spent": _usage(state.spent),
                    "remaining": _usage(state.remaining),
                    "published": state.is_published and _shows_classifier(facts),
                    "written_off": state.is_written_off,
                    "adoptions": [each.facts(for_holder=True) for each in adoptions],
                    "plan": plan_facts(plan),
                    "ledger": {
                        "place": ledger.place,
                        "identity": ledger.identity,
                        "entries": ledger.last.seq,
                        "hash": ledger.last.hash.hex(),
                        "confirmed": confirmed,
                        "verified": job.verify,
                        "anchor": str(ledger.anchor_path),
                        "anchor_apart": ledger.is_apart,
                    },
                }
            )
            return
        checked = "every entry was checked" if job.verify else "the end of its chain was checked (--verify: all of it)"
        anchor = "" if confirmed else ". There is no anchor there, so this may be an older copy"
        remaining = str(state.remaining)
        if state.is_published:
            shown = "is published" if _shows_classifier(facts) else "answers, and is not shown"
            remaining = f"its classifier {shown}: any number of queries"
        elif state.is_written_off:
            remaining = f"{state.remaining}: it was written off, and repeats its logged answers alone"
        elif state.remaining.is_nothing:
            remaining = f"{state.remaining}: it is exhausted, and repeats its logged answers alone"
        fields = {
            "guarantee": promise(plan.guarantee, facts.records),
            "spent": str(state.spent),
            "remaining": remaining,
            "ledger": f"{ledger.place}: {counted(ledger.last.seq, 'entry', 'entries')}; {checked}",
            "anchor": f"{ledger.anchor_path}{anchor}",
        }
        if adoptions:
            fields["adopted"] = "\n".join(map(str, adoptions))
        Console().print(field_table(fields | plan_lines(plan)))
        warn_if_together(ledger.anchor_path, is_apart=ledger.is_apart)


def run_export(job: Export) -> None:
    """Write what anybody may see who may see all queries: transcript, guarantee, published model."""
    targets = {name: job.out / name for name in (TRANSCRIPT, GUARANTEE, READING)}
    check_not_input(job.out, files_of(job))
    _check_export(job.out, overwrite=job.overwrite)
    make_directory(job.out)
    for target in targets.values():
        check_output(target, inputs=files_of(job), overwrite=job.overwrite)
    check_folder(job.out / MODEL_FOLDER, (), overwrite=job.overwrite, cost="")
    written: list[Path] = []
    failed = ""
    with _reading(job) as kept:
        write_table(targets[TRANSCRIPT], _transcript(kept))
        write_whole(targets[GUARANTEE], kept.guarantee.to_json())
        write_whole(targets[READING], _reading_of(kept.facts).to_json())
        written += targets.values()
        is_published = kept.log.state.is_published and _shows_classifier(kept.facts)
        answers = kept.log.state.spent
        adoptions = kept.log.ledger.adoptions
    if is_published:
        release: Any = releases.open(job.place, ledger=job.ledger, anchor=job.anchor, read_only=True)
        try:
            saved = PublishedModel.from_learner(release).save(job.out / MODEL_FOLDER)
            written += saved.written
            failed = not_written(saved, job.out / MODEL_FOLDER) if saved.failed else ""
        finally:
            release.close()
    if job.as_json:
        told = {"answers": _usage(answers), "published": is_published, "files": [str(path) for path in written]}
        print_json(told | {"adoptions": [each.facts(for_holder=True) for each in adoptions]})
    else:
        fields = {"answers": str(answers), "files": "\n".join(map(str, written))}
        if adoptions:
            fields["adopted"] = "\n".join(map(str, adoptions))
        Console().print(field_table(fields))
    if failed:
        complain(failed)
        raise typer.Exit(1)


def _check_export(out: Path, *, overwrite: bool) -> None:
    """Raise unless `out` can be made, is empty, or, with `overwrite`, holds an earlier export."""
    check_outside_releases(out)
    if not out.is_dir() or not any(out.iterdir()):
        return
    try:
        Reading.from_json((out / READING).read_text(encoding="utf-8"))
    except (OSError, ValueError, LookupError, TypeError, PcqrError):
        allowed = "a new or empty directory, or, with --overwrite, that of an earlier export"
        raise ParameterError("--out", allowed, f"{out}, which has other files") from None
    if not overwrite:
        raise OutputExists(out / TRANSCRIPT, "a transcript that was exported before")


@contextmanager
def _reading(job: Status | Export) -> Iterator[Kept]:
    kept = find(job.place, ledger=job.ledger, anchor=job.anchor, read_only=True)
    try:
        yield kept
    finally:
        kept.log.close()


def _reading_of(facts: Facts) -> Reading:
    return Reading(facts.schema, facts.feature_names, facts.features, tuple(map(plain_name, facts.classes)))


def _transcript(kept: Kept) -> dict[str, list[Any]]:
    """Every distinct query with its answer, in the columns that queries have."""
    schema, facts = kept.facts.schema, kept.facts
    plain = facts.feature_names or tuple(f"x{place}" for place in range(facts.features))
    names = plain if schema is None else schema.names
    entries = list(kept.log.entries())
    asked = [decoded(schema, entry.point) for entry in entries]
    cells = [row if isinstance(row, list) else list(row.values()) for row in asked]
    columns: dict[str, list[Any]] = {name: [row[place] for row in cells] for place, name in enumerate(names)}
    for name, told in (("answer", [entry.label for entry in entries]), ("coin", [entry.coin for entry in entries])):
        columns[_free(name, columns)] = [None if label is None else facts.classes[label] for label in told]
    return columns


def _free(name: str, taken: Container[str]) -> str:
    """`name`, or one like it that no column of the queries has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _shows_classifier(facts: Facts) -> bool:
    """May the classifier that answers be shown? Not with shows="answers", nor if it was drawn in place of votes."""
    estimator = registry.resolve(registry.algorithm(facts.algorithm).estimator)
    return hasattr(estimator, "hypothesis_") and facts.parameters.get("shows") != "answers"


def _usage(usage: Usage) -> dict[str, int | None]:
    return {"queries": usage.queries, "unstable": usage.unstable}


# ---------------------------------------------------------------------------------------------------------------------
# The folder of a model: checked before anything is spent, filled as soon as there is a model, and read.


def check_folder(folder: Path, inputs: Iterable[Path], *, overwrite: bool, cost: str, option: str = "--out") -> None:
    """Raise unless `folder` can be made, is empty, or, with `overwrite`, holds an earlier model that can be replaced.

    Files of others beside an earlier model stay as they are.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ParameterError(option, "a directory that can be written to", str(folder))
    check_outside_releases(folder, option=option)
    sources = tuple(inputs)
    for target in (folder / name for name in FILES):
        check_not_input(target, sources, option=option)
        if os.path.lexists(target) and not (target.is_file() and os.access(target, os.W_OK)):
            raise ParameterError(option, "a directory whose files can be written over", str(target))
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not holds_model(folder):
        raise ParameterError(
            option,
            "a new or empty directory, or, with --overwrite, that of an earlier model",
            f"{folder}, which has other files",
        )
    if not overwrite:
        raise OutputExists(folder / MODEL, "a model that was published before", option=option, cost=cost)


def loaded(path: Path) -> PublishedModel:
    """Return the model that the argument MODEL names."""
    try:
        return PublishedModel.load(path)
    except ParameterError as error:
        if error.name != "path":
            raise
        raise ParameterError("MODEL", "a folder with a published model, or its model.json", error.received) from None


def not_written(saved: Saved, folder: Path) -> str:
    """Return the message about files beside a model that could not be written."""
    return (
        f"These files could not be written to {folder}: {', '.join(saved.failed)}. The model itself is in "
        f"{folder / MODEL}. To write them again, at no cost: pcqr.models.PublishedModel.load(…).save(…) in Python."
    )


@dataclass
class Publication:
    """What becomes of the classifier that a universal release publishes."""

    folder: Path
    schema: Schema
    names: Sequence[Any]
    model: PublishedModel | None = None
    saved: Saved | None = None
    failure: str = ""

    def keep(self, release: object) -> None:
        """Write the model once it is there. A disk that is full does not stop the answers: it is tried again later."""
        if self.saved is not None or not isinstance(release, UniversalRelease) or not release.is_published_:
            return
        if self.model is None:
            self.model = PublishedModel.from_learner(release, schema=self.schema, classes=self.names)
        try:
            self.saved = self.model.save(self.folder)
        except OSError as error:
            self.failure = error.strerror or type(error).__name__

    @property
    def unsaved(self) -> dict[str, Any] | None:
        """The document of a model that was paid for and could not be written: it must not be lost."""
        return None if self.model is None or self.saved is not None else json.loads(self.model.to_json())

    @property
    def missing(self) -> str:
        """Which files beside the model could not be written."""
        return "" if self.saved is None else not_written(self.saved, self.folder)

    @property
    def complaint(self) -> str:
        return f"The model could not be written to {self.folder} ({self.failure}). model.json is printed instead."
