"""The options of each command, as they are typed: names, help, defaults. What is done with them is in its own file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

from pcqr import registry
from pcqr.cli.options import (
    AcceptWeakGuarantee,
    AccountAnchorOption,
    AccountOption,
    AlgorithmOption,
    Alpha,
    AnchorOption,
    AnsweringClass,
    AskedKey,
    AskedPlace,
    AssumePublic,
    Beta,
    Categories,
    Certificates,
    ClassWeight,
    Depth,
    Device,
    Drop,
    DryRun,
    FittedAlgorithm,
    FittedClass,
    Folder,
    GroupColumn,
    GroupRows,
    Intervals,
    KeyOption,
    Label,
    LedgerOption,
    LinearReads,
    Mode,
    NoAccount,
    OnUnstable,
    Overwrite,
    PlannedClass,
    Private,
    PublicRows,
    PublishedMethod,
    ReleasePlace,
    Scheduler,
    SchemaFile,
    Scratch,
    Types,
    VotedLabels,
    VoteOption,
    WeightBound,
    WeightColumn,
    Workers,
)

VOTING_ALGORITHM, VOTING_CLASS, UNIVERSAL = "agnostic", "stumps", "universal"
_OF_VOTES = {
    "planned_queries": "planned-queries",
    "class_name": "class",
    "depth": "depth",
    "intervals": "intervals",
    "mode": "mode",
    "alpha": "alpha",
    "beta": "beta",
    "on_unstable": "on-unstable",
    "vote": "vote",
}
"""Fields of `Fit` that are about votes, and their options."""


class Charging(ABC):
    """What jobs that spend ε have in common."""

    groups: str | None
    account: str | None
    account_anchor: Path | None
    no_account: bool
    accept_weak_guarantee: bool
    seed: int | None
    dry_run: bool

    @property
    @abstractmethod
    def inputs(self) -> tuple[Path, ...]:
        """Every file that is read, and must never be written to."""


class Spending(Charging):
    """What jobs that spend ε on labelled private records have in common."""

    private: Path
    label: str
    drop: list[str]

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


class OnPrivateFiles(Spending):
    """What jobs have in common that learn from private records."""

    public: Path | None
    assume_public: bool
    schema: Path | None
    labels: str | None
    scratch: Path | None
    scheduler: str | None
    workers: int | None

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.private, self.public, self.schema) if path is not None)


class Learning(OnPrivateFiles):
    """What jobs have in common that publish a classifier of a table at once."""

    epsilon: float
    types: list[str]
    categories: Sequence[str] = ()
    weight_column: str | None = None


class Voting(OnPrivateFiles):
    """What jobs that answer by votes have in common."""

    epsilon: float
    delta: float
    class_name: str | None
    depth: int | None
    intervals: int
    algorithm: str | None
    shows: str = "classifier"
    mode: str
    alpha: float
    beta: float
    on_unstable: str
    vote: str
    categories: list[str]

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


@dataclass(frozen=True, kw_only=True)
class Answer(Voting):
    """Of `pcqr answer`."""

    private: Private
    label: Label
    queries: Annotated[Path, typer.Option(help="The points to label, with the same feature columns in any order.")]
    epsilon: Annotated[float, typer.Option(help="ε for everything that this run releases.")]
    delta: Annotated[float, typer.Option(help="δ for everything that this run releases; far below 1/n.")]
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .csv, .csv.gz or .parquet. Needed but for --dry-run.")
    ] = None
    dry_run: DryRun = False
    class_name: AnsweringClass = VOTING_CLASS
    depth: Depth = None
    intervals: Intervals = 2
    algorithm: AlgorithmOption = VOTING_ALGORITHM
    model_out: Annotated[
        Path | None,
        typer.Option(help="universal: the folder of the published model. Default: NAME.model beside the answers."),
    ] = None
    publish_after: Annotated[
        int | None, typer.Option(min=1, help="universal: votes before it publishes. Default: half of the queries.")
    ] = None
    mode: Mode = "calibrated"
    alpha: Alpha = 0.1
    beta: Beta = 0.05
    on_unstable: OnUnstable = "abstain"
    vote: VoteOption = "auto"
    public: PublicRows = None
    assume_public: AssumePublic = False
    schema: SchemaFile = None
    categories: Categories = field(default_factory=list)
    drop: Drop = field(default_factory=list)
    labels: VotedLabels = None
    groups: GroupColumn = None
    scratch: Scratch = None
    scheduler: Scheduler = None
    workers: Workers = None
    account: AccountOption = None
    account_anchor: AccountAnchorOption = None
    no_account: NoAccount = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the answers are then NOT PRIVATE.")] = None
    show: Annotated[
        bool, typer.Option("--show", help="Print every answer once it is on disk, as a line of the output.")
    ] = False
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (*super().inputs, self.queries)


@dataclass(frozen=True, kw_only=True)
class Fit(Voting, Learning):
    """Of `pcqr fit`."""

    private: Private
    label: Label
    epsilon: Annotated[float, typer.Option(help="ε for everything that the release will ever answer.")]
    delta: Annotated[float, typer.Option(help="δ for everything that it will ever answer; far below 1/n.")]
    out: Annotated[
        Path,
        typer.Option(help="The directory of the release, which must be new. Releases that vote hold secrets."),
    ]
    planned_queries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="m, the number of queries to plan for, with --class or --algorithm. Votes with noise answer no more. "
            "Default: 300. universal needs it where it votes: the number of votes before it publishes.",
        ),
    ] = None
    class_name: FittedClass = None
    depth: Depth = None
    intervals: Intervals = 2
    algorithm: FittedAlgorithm = None
    shows: Annotated[
        Literal["classifier", "answers"],
        typer.Option(
            help="answers: askers get answers, and never the classifier itself. Whoever can read the directory can "
            "read it. Records are protected either way."
        ),
    ] = "classifier"
    mode: Mode = "calibrated"
    alpha: Alpha = 0.1
    beta: Beta = 0.05
    on_unstable: OnUnstable = "abstain"
    vote: VoteOption = "auto"
    public: PublicRows = None
    assume_public: AssumePublic = False
    schema: SchemaFile = None
    types: Types = field(default_factory=list)
    categories: Categories = field(default_factory=list)
    drop: Drop = field(default_factory=list)
    labels: VotedLabels = None
    groups: GroupColumn = None
    scratch: Scratch = None
    scheduler: Scheduler = None
    workers: Workers = None
    account: AccountOption = None
    account_anchor: AccountAnchorOption = None
    no_account: NoAccount = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    key: KeyOption = None
    cautious: Annotated[
        bool,
        typer.Option(
            "--cautious",
            help="Queries of a batch that a crash breaks off count as unstable. For use where others can stop the "
            "process by what they see in it, or read its raw files. Half as fast. Not for universal or PostgreSQL.",
        ),
    ] = False
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the release is then NOT PRIVATE.")] = None
    dry_run: DryRun = False

    @property
    def is_at_once(self) -> bool:
        """Is the classifier published by this run, without votes?"""
        if self.algorithm is None:
            return self.class_name is None
        return self.algorithm == UNIVERSAL and not self.of_votes

    @property
    def of_votes(self) -> dict[str, object]:
        """The options that were given and that are about votes, with their values."""
        options = {each.name: each.default for each in fields(self) if each.name in _OF_VOTES}
        given = {name: getattr(self, name) for name, default in options.items() if getattr(self, name) != default}
        return {f"--{_OF_VOTES[name]}": value for name, value in given.items()}


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Of `pcqr ask`."""

    place: AskedPlace
    queries: Annotated[Path, typer.Option(help="The points to label, with the feature columns in any order.")]
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where the answers go: .csv, .csv.gz or .parquet. A stopped run goes on. Needed but for --dry-run."
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Ask and write nothing: say which queries are new, what remains and what to expect. Exit code 2 where "
            "--yes would be needed.",
        ),
    ] = False
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Ask although that is expected to exhaust the release, for everybody and ever."),
    ] = False
    drop: Drop = field(default_factory=list)
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    key: AskedKey = None
    ca: Certificates = None
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt",
            help="The release was moved or restored and its anchor is missing: take it to be the newest copy. The "
            "release records that you decided so, and shows it for ever.",
        ),
    ] = False
    write_off: Annotated[
        bool,
        typer.Option(
            "--write-off",
            help="With --adopt: go on with an older copy, and count everything that may have been used since as used. "
            "It repeats its logged answers and decides nothing new.",
        ),
    ] = False
    show: Annotated[
        bool, typer.Option("--show", help="Print every answer once it is on disk, as a line of the output.")
    ] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Status:
    """Of `pcqr status`."""

    place: ReleasePlace
    verify: Annotated[bool, typer.Option("--verify", help="Check every entry of the ledger, not only the last.")] = (
        False
    )
    ledger: LedgerOption = None
    anchor: AnchorOption = None


@dataclass(frozen=True, kw_only=True)
class Export:
    """Of `pcqr export`."""

    place: ReleasePlace
    out: Annotated[Path, typer.Option(help="The directory that the public part is written to.")]
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Publish(Learning):
    """Of `pcqr publish`."""

    private: Private
    label: Label
    epsilon: Annotated[float, typer.Option(help="ε for the published model.")]
    out: Annotated[Path, typer.Option(help="The directory that the model is written to, new or empty.")]
    delta: Annotated[
        float | None,
        typer.Option(help="δ, far below 1/n. A tree by itself is pure and needs none, unless nothing is public."),
    ] = None
    method: PublishedMethod = None
    features: LinearReads = "auto"
    public: Annotated[
        Path | None,
        typer.Option(help="Public rows without labels, 30 or more. Default: a share of ε buys the predicates."),
    ] = None
    assume_public: AssumePublic = False
    schema: Annotated[
        Path | None,
        typer.Option(help="The columns, categories and bounds: .toml or .json. Default: read from the public rows."),
    ] = None
    types: Types = field(default_factory=list)
    depth: Annotated[int | None, typer.Option(help="The depth of the tree. Default: 4, or less on large tables.")] = (
        None
    )
    operations: Annotated[float, typer.Option(help="Refuse a depth that takes more word operations.")] = 2e11
    labels: Annotated[
        str | None,
        typer.Option(help="The label names, which are public, e.g. '<=50K,>50K'. Default: 0 and 1."),
    ] = None
    drop: Drop = field(default_factory=list)
    groups: GroupColumn = None
    group_rows: GroupRows = 1
    class_weight: ClassWeight = None
    weight_column: WeightColumn = None
    weight_bound: WeightBound = 1.0
    scratch: Scratch = None
    scheduler: Scheduler = None
    workers: Workers = None
    account: AccountOption = None
    account_anchor: AccountAnchorOption = None
    no_account: NoAccount = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    device: Device = "cpu"
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the model is then NOT PRIVATE.")] = None
    dry_run: DryRun = False
    overwrite: Overwrite = False

    @property
    def not_features(self) -> tuple[str, ...]:
        return (*super().not_features, *(() if self.weight_column is None else (self.weight_column,)))

    @property
    def weighing(self) -> dict[str, str]:
        given = {"--class-weight": self.class_weight, "--weight-column": self.weight_column}
        return super().weighing | {option: told for option, told in given.items() if told is not None}


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Of `pcqr predict`."""

    model: Annotated[
        Path, typer.Argument(help="A published model: the folder that pcqr publish or answer wrote, or its model.json.")
    ]
    file: Annotated[Path, typer.Argument(help="The rows to label: .csv, .csv.gz or .parquet.")]
    out: Annotated[Path, typer.Option(help="Where the labels go: .csv, .csv.gz or .parquet.")]
    drop: Drop = field(default_factory=list)
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Add the scores: margins of a linear classifier, log-odds of a tree."),
    ] = False
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Add the probability of each label, where the model has some."),
    ] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Score(Spending):
    """Of `pcqr score`."""

    model: Annotated[
        Path, typer.Argument(help="A published model: the folder that pcqr publish or answer wrote, or its model.json.")
    ]
    private: Annotated[
        Path,
        typer.Option(
            help="Private records that the model was NOT fitted on, with their labels: .csv, .csv.gz or .parquet. On "
            "those of the fit a model looks better than it is, and nobody can see that in a file."
        ),
    ]
    label: Label
    epsilon: Annotated[float, typer.Option(help="ε for all that is shown.")]
    bins: Annotated[
        int | None,
        typer.Option(help="Bins of the probability, for AUC: an even number. Default: 10, where there are any."),
    ] = None
    drop: Drop = field(default_factory=list)
    groups: GroupColumn = None
    account: AccountOption = None
    account_anchor: AccountAnchorOption = None
    no_account: NoAccount = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the score is then NOT PRIVATE.")] = None
    dry_run: DryRun = False
    out: Annotated[Path | None, typer.Option(help="A JSON file for the score, beside what is printed.")] = None
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.private, self.model / "model.json" if self.model.is_dir() else self.model)


@dataclass(frozen=True, kw_only=True)
class MakeSchema(Charging):
    """Of `pcqr schema`."""

    file: Annotated[
        Path,
        typer.Argument(
            help="PUBLIC rows: .csv, .csv.gz or .parquet. Private records, also a folder of .parquet files, with "
            "--private alone."
        ),
    ]
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="The rows are private records: release the schema with differential privacy, for ε."
        ),
    ] = False
    epsilon: Annotated[float | None, typer.Option(help="ε for the schema. With --private alone.")] = None
    delta: Annotated[
        float | None, typer.Option(help="δ for the schema, far below 1/n. With --private alone. Default: 1e-6.")
    ] = None
    types: Types = field(default_factory=list)
    out: Annotated[
        Path | None,
        typer.Option(help="Where the schema goes: .toml or .json. Default: nowhere. Needed with --private."),
    ] = None
    drop: Drop = field(default_factory=list)
    most_categories: Annotated[
        int | None, typer.Option(min=1, help="The most categories that a column keeps. Default: 100.")
    ] = None
    groups: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose each row is. The guarantee is then about persons, and cuts and categories "
            "come from one row of each person. The column is no feature. Only with --private."
        ),
    ] = None
    account: AccountOption = None
    account_anchor: AccountAnchorOption = None
    no_account: NoAccount = False
    accept_weak_guarantee: AcceptWeakGuarantee = False
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the schema is then NOT PRIVATE.")] = None
    dry_run: DryRun = False
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.file,)

    @property
    def not_features(self) -> tuple[str, ...]:
        return (*self.drop, *(() if self.groups is None else (self.groups,)))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Of `pcqr plan`."""

    class_name: PlannedClass = None
    vc: Annotated[int | None, typer.Option(min=1, help="Instead of --class: any class of this VC dimension.")] = None
    intervals: Intervals = 2
    features: Annotated[
        int | None, typer.Option("--columns", "--features", min=1, help="The number of columns of the table.")
    ] = None
    records: Annotated[int | None, typer.Option("--n", min=1, help="n, the number of private records.")] = None
    epsilon: Annotated[float | None, typer.Option(help="ε for everything that is released.")] = None
    delta: Annotated[float | None, typer.Option(help="δ, far below 1/n. Default: 1e-6.")] = None
    queries: Annotated[int | None, typer.Option(min=1, help="m, the number of queries.")] = None
    alpha: Annotated[float | None, typer.Option(help="The excess error over the best of the class.")] = None
    beta: Annotated[float | None, typer.Option(help="The chance of a larger excess error. Default: 0.05.")] = None
    public: Annotated[int | None, typer.Option(min=1, help="The number of public rows without labels at hand.")] = None
    schema: Annotated[
        bool,
        typer.Option("--schema/--no-schema", help="Can a schema be written without a look at the private records?"),
    ] = False
    solve: Annotated[
        Literal["records", "alpha", "queries", "epsilon", "delta", "beta"] | None,
        typer.Option(help="What to solve for. Default: the one of n, ε, α and m that is left out."),
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Derive every number, with its formula and proof.")] = False
    plot: Annotated[Path | None, typer.Option(help="Draw n against m, α against ε, k against T: .svg, .png, .pdf.")] = (
        None
    )
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Of `pcqr demo`."""

    out: Folder = Path("out")
    fast: Annotated[bool, typer.Option("--fast", help="Fewer records and queries.")] = False


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Of `pcqr audit`."""

    full: Annotated[
        bool, typer.Option("--full/--fast", help="More cases, more queries, more runs: minutes instead of seconds.")
    ] = False
    out: Folder = Path("out")


@dataclass(frozen=True, kw_only=True)
class Datasets:
    """Of `pcqr datasets`: none."""
