"""A release from the options of a command, for `pcqr answer` and `pcqr fit`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pcqr import registry
from pcqr.cli.inputs import Shown
from pcqr.cli.jobs import Ask, Export, Voting
from pcqr.client.address import is_address
from pcqr.errors import ParameterError
from pcqr.estimators.answering import Release
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass
from pcqr.release.ledger.opening import written_place


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
        ("shows", job.shows, "classifier"),
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
