"""`pcqr serve --demo`: something to serve on UCI Adult, made once and found again.

A release that answers by votes and then publishes a tree, and a tree that was published at once. Adult is public, so no
account is charged. All of it is in one folder, the anchor of the release too: who deletes the folder deletes all.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from pcqr import AssumePublic, SemiPrivateLearner, UniversalRelease
from pcqr.cli.console import make_directory, progress, stages
from pcqr.cli.service_jobs import Serve
from pcqr.datasets import adult_schema, adult_table, write_table
from pcqr.datasets.adult import LABEL, LABEL_NAMES, LEFT_OUT
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.models.folder import MODEL
from pcqr.release.durable.directory import FACTS

FOLDER = Path("out/serve")
RELEASE, TREE, QUERIES, ANCHOR = "adult", "adult-tree", "queries.csv", "adult.anchor"
RECORDS, PUBLIC, ASKED = 32_561, 2_000, 200


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
        return cls(rows(train, slice(RECORDS)), labels, rows(test, slice(-PUBLIC, None)), rows(test, slice(ASKED)))


def with_demo(job: Serve, *, as_json: bool) -> Serve:
    """The same job with the release and the model of the demonstration, which are made where they are not there yet."""
    if job.places or job.anchor or job.ledger or job.key:
        raise ParameterError("--demo", "alone: without places, --ledger, --anchor and --key", ", ".join(job.places))
    release, tree = FOLDER / RELEASE, FOLDER / TREE
    is_there = (release / FACTS).exists() and (tree / MODEL).exists()
    if not is_there:
        _make(release, tree, as_json=as_json)
    if not as_json:
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
