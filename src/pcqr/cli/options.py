"""The options that several commands have, declared once: as fields of a job, or as the annotation of one.

Imports nothing numerical: `pcqr --help` must not wait for numpy.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pcqr import registry
from pcqr.errors import ParameterError

VOTING_ALGORITHM, VOTING_CLASS = "agnostic", "stumps"


def algorithms() -> list[str]:
    """What `--algorithm` may be; the simplest come first."""
    return [entry.option for entry in reversed(registry.algorithms()) if entry.option is not None]


def classes(*, planned: bool = False) -> list[str]:
    """What `--class` may be. For `pcqr plan`, no class made of public rows: what it costs depends on them."""
    found = [entry.option for entry in registry.classes() if entry.option is not None]
    return [name for name in found if not planned or not registry.hypothesis_class(name).needs_public]


def class_option(said: str, *, planned: bool = False) -> Any:
    """Return the option --class with this help."""
    return _choice("--class", registry.hypothesis_class, lambda: classes(planned=planned), said)


def algorithm_option(said: str) -> Any:
    """Return the option --algorithm with this help."""
    return _choice("--algorithm", registry.algorithm, algorithms, said)


def _choice(name: str, find: Callable[[str], registry.Entry], options: Callable[[], list[str]], said: str) -> Any:
    def parsed(text: str) -> str:
        return _one_of(text, find, options())

    return typer.Option(name, parser=parsed, metavar="|".join(options()), autocompletion=options, help=said)


def _one_of(text: str, find: Callable[[str], registry.Entry], options: list[str]) -> str:
    """The option of what is called so, by any of its names. What is known but not taken here is told where it runs."""
    elsewhere = ""
    with suppress(ParameterError):
        found = find(text)
        if found.option in options:
            return found.option
        elsewhere = f" {_elsewhere(found)}"
    raise typer.BadParameter(f"{text!r} is not one of {', '.join(options)}.{elsewhere}")


def _elsewhere(entry: registry.Entry) -> str:
    match entry:
        case registry.Algorithm(command_line=None):
            return f"{entry.estimator_name} runs in Python only."
        case registry.Algorithm():
            return f"{entry.estimator_name} runs by {entry.command_line}."
        case registry.HypothesisFamily(option=None):
            return f"{entry.name} can be had in Python only."
    return f"What {entry.name} can do depends on the public rows or the schema: leave --class out, or give --vc."


def period(text: str) -> float:
    """Seconds of a time like 50ms or 0.1s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)", text.strip())
    seconds = float(found[1]) / (1000 if found[2] == "ms" else 1) if found else 0.0
    if not 0.001 <= seconds <= 60:
        raise typer.BadParameter(f"{text!r} is not a time from 1ms to 60s, such as 50ms.")
    return seconds


SchemaFile = Annotated[Path | None, "The columns, categories and bounds: .toml or .json."]
Drop = Annotated[list[str], "A column to leave out. Repeat for more columns."]
Types = Annotated[
    list[str],
    "The kinds of columns, which are public: age=number,job=text,born=date,member=boolean. Repeat for more. "
    "A CSV file has no types, so give all kinds. For a Parquet file give those that differ from its types.",
]
Depth = Annotated[int | None, typer.Option(min=1, help="The depth of --class trees.")]
Folder = Annotated[Path, "The directory that the picture is written to."]
Overwrite = Annotated[bool, "Replace what an earlier run has written there."]
ReleasePlace = Annotated[Path, typer.Argument(help="The directory that pcqr fit has made.", metavar="RELEASE")]
LedgerOption = Annotated[
    str | None, "Where the log of answers is, if not in the directory: a file, or the address of PostgreSQL."
]
AnchorOption = Annotated[
    Path | None, "Where the last reply is remembered, away from the release. Default: the user's state directory."
]
OfAccountAnchor = Annotated[
    Path | None,
    "Where is remembered how far the account has come, away from it. Default: the user's state directory. "
    "Elsewhere, name it in every command: --anchor of pcqr account, --account-anchor of those that spend.",
]
Place = Annotated[str, typer.Argument(help="The account: a name, or a path.", metavar="NAME")]
AcceptWeakGuarantee = Annotated[
    bool, "Run although ε or δ is so large that the guarantee protects little: ε above 10, δ from 1/n or 0.001 on."
]
Show = Annotated[bool, "Print every answer once it is on disk, as a line of the output."]
Model = Annotated[
    Path, typer.Argument(help="A published model: the folder that pcqr publish or answer wrote, or its model.json.")
]
KeysPath = Annotated[
    Path | None, "The file of keys. Default: keys.json in the user's data directory, or in PCQR_DATA_DIR."
]
KeyName = Annotated[str, typer.Argument(help="Whose key it is: letters, digits, - . _. It is in logs.", metavar="NAME")]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every command is asked."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text; no progress bar.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class Charging(Job, ABC):
    """What commands are asked that spend ε."""

    groups: Annotated[
        str | None,
        "The column of the private records that says whose each row is. It is no feature, and the guarantee is "
        "then about persons, all rows of one together. Their number is public.",
    ] = None
    account: Annotated[
        str | None,
        "The account of the private table, a name or a path (pcqr account): charged before anything is drawn, and "
        "what does not fit is refused. A run that spends needs it, or --no-account.",
    ] = None
    account_anchor: Annotated[Path | None, "Where the account's anchor is, if not in the user's state directory."] = (
        None
    )
    no_account: Annotated[bool, "Spend without an account: nothing remembers what this run has spent."] = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    seed: int | None = None
    dry_run: Annotated[
        bool,
        "Spend and write nothing: say what the run would promise, plan and use up, and what would remain of the "
        "account. Of the private file only the column names and the number of rows are used; with --groups the "
        "column of ids, for the number of persons. Exit code 2 where the run would be refused.",
    ] = False

    @property
    @abstractmethod
    def inputs(self) -> tuple[Path, ...]:
        """Every file that is read, and must never be written to."""


@dataclass(frozen=True, kw_only=True)
class Spending(Charging):
    """What commands are asked that spend ε on labelled private records."""

    private: Annotated[
        Path,
        "The private records: .csv, .csv.gz or .parquet, or a folder of .parquet files. Folders and large Parquet "
        "files are read part by part, and need not fit into memory.",
    ]
    label: Annotated[str, "The column of the private records that holds the label."]
    drop: Drop = field(default_factory=list)

    @property
    def not_features(self) -> tuple[str, ...]:
        return (self.label, *self.drop, *(() if self.groups is None else (self.groups,)))

    @property
    def weighing(self) -> dict[str, str]:
        """The options, with what they are, for which the table must be in memory: rows or records have weights."""
        return {} if self.groups is None else {"--groups": self.groups}

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.private,)


class _Reading:
    """What only some commands ask about their files; a field of the same name says so."""

    queries: Path | None = None
    types: Sequence[str] = ()
    categories: Sequence[str] = ()
    weight_column: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnPrivateFiles(_Reading, Spending):
    """What commands are asked that learn from private records."""

    public: Annotated[
        Path | None, "Public rows without labels: the predicates of trees and the schema are made from them."
    ] = None
    assume_public: Annotated[
        bool, "Do not compare the public rows (universal: the queries) with the private ones: few different rows exist."
    ] = False
    schema: SchemaFile = None
    labels: str | None = None
    scratch: Annotated[
        Path | None,
        "A directory for scratch files, on a disk that is trusted with the private records, where they are read "
        "part by part. They have no names and are gone when the run ends. Default: TMPDIR.",
    ] = None
    scheduler: Annotated[
        str | None,
        "A Dask cluster that keeps Parquet files in the memory of its workers and works on them: tcp://HOST:PORT, "
        "tls://HOST:PORT, or local for workers on this machine. Scheduler, workers and network see private records.",
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many workers of one thread to start on this machine. Default: one for each core."
        ),
    ] = None

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.private, self.public, self.schema) if path is not None)


class Learning(OnPrivateFiles):
    """What commands are asked that publish a classifier of a table at once."""

    epsilon: float

    @property
    def is_bare(self) -> bool:
        """Is nothing public but columns and their kinds?"""
        return self.public is None and self.schema is None


@dataclass(frozen=True, kw_only=True)
class Voting(OnPrivateFiles):
    """What commands are asked that answer by votes."""

    epsilon: float
    delta: float
    class_name: str | None
    depth: Depth = None
    intervals: Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")] = 2
    algorithm: str | None
    mode: Annotated[Literal["calibrated", "paper"], "paper: the paper's constants, for 10⁹ records and more."] = (
        "calibrated"
    )
    alpha: Annotated[float, "The excess error that is planned for."] = 0.1
    beta: Annotated[float, "The probability of a larger excess error that is planned for."] = 0.05
    on_unstable: Annotated[Literal["abstain", "random"], "An unstable query gets no label, or a random one."] = (
        "abstain"
    )
    vote: Annotated[
        Literal["auto", "stability", "noisy max"],
        "subsamp, agnostic: what makes votes private. stability: a test of each vote, which gives no label where "
        "teachers disagree. 'noisy max': noise on each vote, which answers as many new queries as planned. auto: the "
        "planner decides from public numbers. agnostic needs no votes for trees with --public or --schema.",
    ] = "auto"
    categories: Annotated[
        list[str], "Declare a categorical column, e.g. 'sex=Female,Male'. Repeat for more columns."
    ] = field(default_factory=list)
    labels: Annotated[
        str | None,
        "The labels, negative first, e.g. '<=50K,>50K'. More than two without votes, or for subsamp with trees. "
        "Default: 0 and 1.",
    ] = None

    @property
    def publishes(self) -> bool:
        """Does the run end with a published classifier?"""
        return self.by.publishes

    @property
    def by(self) -> registry.Algorithm:
        """The algorithm."""
        return registry.algorithm(self.algorithm or VOTING_ALGORITHM)

    @property
    def family(self) -> registry.HypothesisFamily:
        """The hypothesis class."""
        return registry.hypothesis_class(self.class_name or VOTING_CLASS)


def option_of(name: str) -> str:
    """Return the option that a field of a job has."""
    return "--class" if name == "class_name" else f"--{name.replace('_', '-')}"
