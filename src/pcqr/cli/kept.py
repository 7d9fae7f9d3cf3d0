"""`pcqr status` and `pcqr export`: the public part of a release that is kept, beside a running writer too."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from pcqr import registry
from pcqr import release as releases
from pcqr.cli.console import complain, field_table, make_directory, print_json, progress, warn_if_together
from pcqr.cli.jobs import Export, Status
from pcqr.cli.model_folder import check_folder, not_written
from pcqr.cli.releases import files_of
from pcqr.datasets.tables import write_table
from pcqr.errors import OutputExists, ParameterError, PcqrError
from pcqr.estimators.labels import plain_name
from pcqr.files import check_not_input, check_output, check_outside_releases, write_whole
from pcqr.models import PublishedModel
from pcqr.peers.transfer.exported import GUARANTEE, READING, TRANSCRIPT, Reading
from pcqr.plan import Usage, counted
from pcqr.plan.words import guarantee_facts, plan_facts, plan_lines, promise
from pcqr.release.durable.directory import Kept, find
from pcqr.release.durable.facts import Facts
from pcqr.schema.decoding import decoded

MODEL = "model"


def run_status(job: Status, *, as_json: bool) -> None:
    """Print what is promised, spent and remaining. With --verify, check the whole chain."""
    with _reading(job) as kept:
        facts, state, ledger = kept.facts, kept.log.state, kept.log.ledger
        if job.verify:
            with progress(hidden=as_json) as bar:
                task = bar.add_task("checking", total=ledger.last.seq)
                ledger.verify(lambda done, _: bar.update(task, completed=done))
        plan, confirmed, adoptions = (
            replace(facts.plan, guarantee=kept.guarantee),
            ledger.is_confirmed,
            ledger.adoptions,
        )
        if as_json:
            print_json(
                guarantee_facts(plan.guarantee, facts.records)
                | {
                    "algorithm": facts.algorithm,
                    "spent": _usage(state.spent),
                    "left": _usage(state.left),
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
        left = str(state.left)
        if state.is_published:
            shown = "is published" if _shows_classifier(facts) else "answers, and is not shown"
            left = f"its classifier {shown}: any number of queries"
        elif state.is_written_off:
            left = f"{state.left}: it was written off, and repeats its logged answers alone"
        elif state.left.is_nothing:
            left = f"{state.left}: it is exhausted, and repeats its logged answers alone"
        fields = {
            "guarantee": promise(plan.guarantee, facts.records),
            "spent": str(state.spent),
            "remaining": left,
            "ledger": f"{ledger.place}: {counted(ledger.last.seq, 'entry', 'entries')}; {checked}",
            "anchor": f"{ledger.anchor_path}{anchor}",
        }
        if adoptions:
            fields["adopted"] = "\n".join(map(str, adoptions))
        Console().print(field_table(fields | plan_lines(plan)))
        warn_if_together(ledger.anchor_path, is_apart=ledger.is_apart)


def run_export(job: Export, *, as_json: bool) -> None:
    """Write what anybody may see who may see all queries: transcript, guarantee, published model."""
    targets = {name: job.out / name for name in (TRANSCRIPT, GUARANTEE, READING)}
    check_not_input(job.out, files_of(job))
    _check_export(job.out, overwrite=job.overwrite)
    make_directory(job.out)
    for target in targets.values():
        check_output(target, inputs=files_of(job), overwrite=job.overwrite)
    check_folder(job.out / MODEL, (), overwrite=job.overwrite, cost="")
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
            saved = PublishedModel.from_learner(release).save(job.out / MODEL)
            written += saved.written
            failed = not_written(saved, job.out / MODEL) if saved.failed else ""
        finally:
            release.close()
    if as_json:
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
