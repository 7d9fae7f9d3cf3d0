"""What each command asks: the fields of its job are its options, the docstring is its help. Each is declared once."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

from pcqr.cli.options import (
    VOTING_ALGORITHM,
    VOTING_CLASS,
    AcceptWeakGuarantee,
    AnchorOption,
    Charging,
    Drop,
    Folder,
    Job,
    KeyName,
    KeysPath,
    Learning,
    LedgerOption,
    Model,
    OfAccountAnchor,
    Overwrite,
    Place,
    ReleasePlace,
    SchemaFile,
    Show,
    Spending,
    Types,
    Voting,
    algorithm_option,
    class_option,
    option_of,
    period,
)

UNIVERSAL = "universal"
_OF_VOTES = ("planned_queries", "class_name", "depth", "intervals", "mode", "alpha", "beta", "on_unstable", "vote")
"""Fields of `Fit` that are about votes."""


@dataclass(frozen=True, kw_only=True)
class Answer(Voting):
    """Label the queries, one at a time. Each run is a new release and costs ε and δ anew.

    Columns hold numbers unless their categories are declared; nothing is ever read off the private records to find
    out. The answers have three columns: row (1 is the first query), label (empty where there is none) and kind.

    While they come they are in FILE.part.csv beside the output, each on disk before it is shown. Should the run be
    stopped, by Ctrl-C, a kill or a full disk, all that was given is there.

    A universal run writes its model as soon as that is published: pcqr predict applies it, at no cost.

    With --dry-run nothing is answered and nothing is spent.

    Exit codes: 0 done; 1 all answers are written, but the model could not be (it is printed), or a file beside it; 2
    bad input, or no room in the account, nothing was spent; 3 the release was exhausted before the last query (the
    answers given until then are in the output); 4 stopped before the end (the answers given until then are in
    FILE.part.csv).
    """

    queries: Annotated[Path, "The points to label, with the same feature columns in any order."]
    epsilon: Annotated[float, "ε for everything that this run releases."]
    delta: Annotated[float, "δ for everything that this run releases; far below 1/n."]
    out: Annotated[Path | None, "Where the answers go: .csv, .csv.gz or .parquet. Needed but for --dry-run."] = None
    class_name: Annotated[str, class_option("The hypothesis class H. trees need --public or --schema.")] = VOTING_CLASS
    algorithm: Annotated[
        str,
        algorithm_option(
            "subsamp: votes on the labels as they are. agnostic: votes, or one draw from a fixed class. universal: "
            "relabel, vote, then publish a classifier. Names of the papers and of the estimators will do as well, such "
            "as AgPrivCl or AgnosticRelease."
        ),
    ] = VOTING_ALGORITHM
    model_out: Annotated[
        Path | None, "universal: the folder of the published model. Default: NAME.model beside the answers."
    ] = None
    publish_after: Annotated[
        int | None, typer.Option(min=1, help="universal: votes before it publishes. Default: half of the queries.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the answers are then NOT PRIVATE.")] = None
    show: Show = False
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (*super().inputs, self.queries)


@dataclass(frozen=True, kw_only=True)
class Fit(Voting, Learning):
    """Prepare a release and keep it in a directory: it outlives this process, and pcqr ask answers from it.

    It publishes a classifier, which answers every query. Nothing has to be public but columns and their kinds. With
    --class, or --algorithm agnostic or subsamp, votes answer.

    ε and δ are spent here, whole. Asking adds nothing to them. The directory holds the log of all answers and, for
    votes, secrets (mode 0600, --key encrypts them). The last position of the log is kept apart (--anchor) to detect
    older copies.

    Exit codes: 0 done; 2 bad input, or no room in the account, nothing was spent; 4 stopped.
    """

    epsilon: Annotated[float, "ε for everything that the release will ever answer."]
    delta: Annotated[float, "δ for everything that it will ever answer; far below 1/n."]
    out: Annotated[Path, "The directory of the release, which must be new. Releases that vote hold secrets."]
    planned_queries: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="m, the number of queries to plan for, with --class or --algorithm. Votes with noise answer no more. "
            "Default: 300. universal needs it where it votes: the number of votes before it publishes.",
        ),
    ] = None
    class_name: Annotated[
        str | None,
        class_option(
            "The hypothesis class H of releases that vote. trees need --public or --schema. Default: stumps with "
            "--algorithm agnostic or subsamp. With neither --class nor --algorithm a classifier is published."
        ),
    ] = None
    algorithm: Annotated[
        str | None,
        algorithm_option(
            "Default: universal, which publishes a classifier at once and answers every query by it. universal with "
            "--class or another option of votes: relabel, vote, then publish a classifier. subsamp: votes on the "
            "labels as they are. agnostic, the default with --class: votes, or one draw from a fixed class. Names of "
            "the papers and of the estimators will do as well."
        ),
    ] = None
    shows: Annotated[
        Literal["classifier", "answers"],
        "answers: askers get answers, and never the classifier itself. Whoever can read the directory can "
        "read it. Records are protected either way.",
    ] = "classifier"
    types: Types = field(default_factory=list)
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    key: Annotated[str | None, "Where the key is that encrypts the secrets: file:PATH or env:NAME."] = None
    cautious: Annotated[
        bool,
        "Queries of a batch that a crash breaks off count as unstable. For use where others can stop the "
        "process by what they see in it, or read its raw files. Half as fast. Not for universal or PostgreSQL.",
    ] = False
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the release is then NOT PRIVATE.")] = None

    @property
    def is_at_once(self) -> bool:
        """Is the classifier published by this run, without votes?"""
        if self.algorithm is None:
            return self.class_name is None
        return self.algorithm == UNIVERSAL and not self.of_votes

    @property
    def of_votes(self) -> dict[str, object]:
        """The options that were given and that are about votes, with their values."""
        votes = (each for each in fields(self) if each.name in _OF_VOTES)
        given = {each.name: getattr(self, each.name) for each in votes if getattr(self, each.name) != each.default}
        return {option_of(name): value for name, value in given.items()}


@dataclass(frozen=True, kw_only=True)
class Ask(Job):
    """Label queries by a release that pcqr fit has made. Adds nothing to ε and δ. Queries asked before are repeated.

    A new query may take one of the release's unstable answers. When they are used up, the release is exhausted for
    ever: a batch that is expected to do that is not asked without --yes. With --dry-run nothing is asked.

    The release is in a directory, or on a server that may be anywhere (pcqr serve). Each answer is on disk before it is
    shown. Should the run be stopped, the same command goes on where it was. The queries of a universal release become
    public with its classifier.

    Exit codes: 0 done; 2 bad input, a batch that needs --yes, or the release cannot be opened or reached: nothing was
    asked; 3 the release is exhausted, or our key has used up its quota, before the last query; 4 stopped before the
    end (the answers given until then are in FILE.part.csv, and in the release).
    """

    place: Annotated[
        str,
        typer.Argument(
            help="The directory that pcqr fit has made, or where pcqr serve has it: http://HOST:PORT/NAME.",
            metavar="RELEASE",
        ),
    ]
    queries: Annotated[Path, "The points to label, with the feature columns in any order."]
    out: Annotated[
        Path | None, "Where the answers go: .csv, .csv.gz or .parquet. A stopped run goes on. Needed but for --dry-run."
    ] = None
    dry_run: Annotated[
        bool,
        "Ask and write nothing: say which queries are new, what remains and what to expect. Exit code 2 where "
        "--yes would be needed.",
    ] = False
    yes: Annotated[bool, "Ask although that is expected to exhaust the release, for everybody and ever."] = False
    drop: Drop = field(default_factory=list)
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    key: Annotated[
        str | None,
        "Where the key is, file:PATH or env:NAME: the one that encrypts the secrets of a directory, or the one "
        "that a server knows us by. Default for a server: the variable PCQR_KEY.",
    ] = None
    ca: Annotated[Path | None, "For https: a file of certificates to trust, instead of this machine's."] = None
    adopt: Annotated[
        bool,
        "The release was moved or restored and its anchor is missing: take it to be the newest copy. The "
        "release records that you decided so, and shows it for ever.",
    ] = False
    write_off: Annotated[
        bool,
        "With --adopt: go on with an older copy, and count everything that may have been used since as used. "
        "It repeats its logged answers and decides nothing new.",
    ] = False
    show: Show = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Serve(Job):
    """Answer over HTTP: releases and published models, by the Open Inference Protocol v2 and by a page.

    Each answer is on disk before it is sent. Asking adds nothing to the ε and δ that pcqr fit has spent. A signal
    (Ctrl-C, SIGTERM) ends the server: what is in flight is answered first.

    Exit codes: 0 ended by a signal; 2 bad input, or something cannot be opened.
    """

    places: Annotated[
        list[str],
        typer.Argument(
            help="Releases (pcqr fit) and published models (pcqr publish): PATH, or NAME=PATH.", metavar="RELEASE|MODEL"
        ),
    ] = field(default_factory=list)
    demo: Annotated[bool, "Serve a release and a model on UCI Adult, made in out/serve and found again there."] = False
    host: Annotated[str, "The address to listen at."] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at.")] = 8080
    keys: KeysPath = None
    host_name: Annotated[
        list[str], "A name under which the server is asked for, beside loopback's. Repeat for more names."
    ] = field(default_factory=list)
    certificate: Annotated[Path | None, "TLS: the certificate, with its chain, in PEM."] = None
    key_file: Annotated[Path | None, "TLS: the private key of the certificate, in PEM."] = None
    reply_every: Annotated[
        float | None,
        typer.Option(
            parser=period,
            metavar="TIME",
            help="Have replies leave on a grid of moments alone, e.g. 50ms: their time then does not tell how hard an "
            "answer was. Must be longer than --reply-rows answers take.",
        ),
    ] = None
    reply_rows: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --reply-every: how many rows are answered in one period. A longer request takes one period "
            "for each so many rows.",
        ),
    ] = 64
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes; more than one where all releases are in PostgreSQL.")
    ] = 1
    most_bytes: Annotated[int, typer.Option(min=1024, help="Bytes that the body of a request may have.")] = 16 << 20
    most_rows: Annotated[int, typer.Option(min=1, help="Rows that a request may have.")] = 10_000
    most_requests: Annotated[int, typer.Option(min=1, help="Requests in flight at a time.")] = 1_024
    most_connections: Annotated[int, typer.Option(min=1, help="Connections at a time.")] = 4_096
    read_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds in which a request must arrive.")] = 30.0
    close_seconds: Annotated[
        float, typer.Option(min=1, help="Seconds in which requests in flight are answered when the server ends.")
    ] = 30.0
    ledger: Annotated[
        list[str], "NAME=FILE or NAME=ADDRESS: where the log of a release is, if not in its directory."
    ] = field(default_factory=list)
    anchor: Annotated[
        list[str], "NAME=FILE: where the anchor of a release is, if not in the user's state directory."
    ] = field(default_factory=list)
    adopt: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="This release was moved or restored and its anchor is missing: take it to be the newest copy. "
            "The release records that you decided so, and shows it for ever.",
        ),
    ] = field(default_factory=list)
    write_off: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="With --adopt NAME: go on with an older copy, and count everything that may have been used since as "
            "used. It repeats its logged answers and decides nothing new.",
        ),
    ] = field(default_factory=list)
    shared: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="The keys of this release share what was asked: a row that one key has asked is repeated, and free, "
            "for all others. So they learn that somebody has asked it. Default: each key counts its own rows.",
        ),
    ] = field(default_factory=list)
    key: Annotated[
        list[str], "NAME=file:PATH or NAME=env:VARIABLE: the key that encrypts the secrets of a release."
    ] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Status(Job):
    """Show what a release has promised, what was asked and what remains. Reads no secret; a writer may be running.

    Exit codes: 0 done; 2 there is no release, or it cannot be believed.
    """

    place: ReleasePlace
    verify: Annotated[bool, "Check every entry of the ledger, not only the last."] = False
    ledger: LedgerOption = None
    anchor: AnchorOption = None


@dataclass(frozen=True, kw_only=True)
class Export(Job):
    """Write the public part of a release: transcript.csv, how it is read (reading.json), guarantee.json and, once it is
    published, the model. `pcqr.transfer(DIRECTORY, learner)` trains a student on it, anywhere.

    The transcript has every query, as it was encoded, with its answer: whoever sees it sees what was asked.

    Exit codes: 0 done; 1 a file beside the model could not be written; 2 bad input, or there is no release.
    """

    place: ReleasePlace
    out: Annotated[Path, "The directory that the public part is written to."]
    ledger: LedgerOption = None
    anchor: AnchorOption = None
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Publish(Learning):
    """Publish a classifier that everybody may use. Each run is a new release and costs ε anew.

    Its predicates come from public rows (--public) or from a schema (--schema). With neither, a share of ε and δ buys
    them from the private records. Writes model.json, rules.txt, card.md and, with the extras plot and onnx, a picture
    (.svg) and model.onnx.

    model.json comes first: once the model is drawn, nothing comes between it and the disk.

    With --dry-run nothing is drawn and nothing is spent.

    Exit codes: 0 done; 1 the model was drawn and ε is spent, but a file beside it could not be written, or something
    else failed afterwards;
    2 bad input, or no room in the account, nothing was spent; 4 stopped (the message says whether a model was drawn).
    """

    epsilon: Annotated[float, "ε for the published model."]
    out: Annotated[Path, "The directory that the model is written to, new or empty."]
    delta: Annotated[
        float | None, "δ, far below 1/n. A tree by itself is pure and needs none, unless nothing is public."
    ] = None
    method: Annotated[
        Literal["auto", "tree", "linear"] | None,
        "What to publish. tree: a decision tree. linear: a linear classifier. auto: a tree where n·ε is below "
        "3,000 (2,000 with --class-weight balanced, two labels and public rows), else a linear classifier with a tree "
        "beside it. Default: auto with --delta, tree without.",
    ] = None
    features: Annotated[
        Literal["auto", "predicates", "dense"],
        "What a linear classifier reads. predicates: public predicates such as age > 30. dense: the columns "
        "themselves, as an encoder of images or texts made them. auto: dense for a table of more than 100 numeric "
        "columns and nothing else.",
    ] = "auto"
    public: Annotated[
        Path | None, "Public rows without labels, 30 or more. Default: a share of ε buys the predicates."
    ] = None
    schema: Annotated[
        Path | None, "The columns, categories and bounds: .toml or .json. Default: read from the public rows."
    ] = None
    types: Types = field(default_factory=list)
    depth: Annotated[int | None, "The depth of the tree. Default: 4, or less on large tables."] = None
    operations: Annotated[float, "Refuse a depth that takes more word operations."] = 2e11
    labels: Annotated[str | None, "The label names, which are public, e.g. '<=50K,>50K'. Default: 0 and 1."] = None
    group_rows: Annotated[
        int,
        typer.Option(
            min=1, help="How many rows of a person may count: 1 for few errors a person, more for few errors a row."
        ),
    ] = 1
    class_weight: Annotated[
        str | None,
        "Weights of the labels: 'no=1,yes=10', or balanced, which spends a tenth of ε on noisy counts of them. "
        "The largest weight counts as one record, the least is a 64th of it.",
    ] = None
    weight_column: Annotated[
        str | None,
        "The column of the private records that says what each row counts, 0 or more. It is no feature, and as "
        "private as the record.",
    ] = None
    weight_bound: Annotated[
        float, "The largest weight that counts as given: larger ones are cut to it. It counts as one record."
    ] = 1.0
    device: Annotated[
        Literal["cpu", "cuda", "auto"],
        "Where to count and add up: the same model, to the last bit. auto: on a GPU if there is one.",
    ] = "cpu"
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the model is then NOT PRIVATE.")] = None
    overwrite: Overwrite = False

    @property
    def not_features(self) -> tuple[str, ...]:
        return (*super().not_features, *(() if self.weight_column is None else (self.weight_column,)))

    @property
    def weighing(self) -> dict[str, str]:
        given = {"--class-weight": self.class_weight, "--weight-column": self.weight_column}
        return super().weighing | {option: told for option, told in given.items() if told is not None}


@dataclass(frozen=True, kw_only=True)
class Predict(Job):
    """Apply a published model to a file. Costs nothing, however often; needs no private data.

    Columns are found by name, in any order. The predictions have the columns row (1 is the first) and label.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """

    model: Model
    file: Annotated[Path, typer.Argument(help="The rows to label: .csv, .csv.gz or .parquet.")]
    out: Annotated[Path, "Where the labels go: .csv, .csv.gz or .parquet."]
    drop: Drop = field(default_factory=list)
    scores: Annotated[bool, "Add the scores: margins of a linear classifier, log-odds of a tree."] = False
    probabilities: Annotated[bool, "Add the probability of each label, where the model has some."] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Score(Spending):
    """Score a published model on private records: accuracy, confusion matrix and AUC, with intervals. Costs ε anew.

    The records must be others than those that the model was fitted on. That cannot be checked. Each interval covers
    the noise and the sampling of the records. One whose label is missing or no class of the model counts as wrong.

    With --dry-run nothing is drawn and nothing is spent.

    Exit codes: 0 done; 1 the score was drawn and ε is spent, but --out could not be written; 2 bad input, or no room in
    the account, nothing was spent; 4 stopped (the message says whether ε was spent).
    """

    model: Model
    private: Annotated[
        Path,
        "Private records that the model was NOT fitted on, with their labels: .csv, .csv.gz or .parquet. On "
        "those of the fit a model looks better than it is, and nobody can see that in a file.",
    ]
    epsilon: Annotated[float, "ε for all that is shown."]
    bins: Annotated[
        int | None, "Bins of the probability, for AUC: an even number. Default: 10, where there are any."
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the score is then NOT PRIVATE.")] = None
    out: Annotated[Path | None, "A JSON file for the score, beside what is printed."] = None
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.private, self.model / "model.json" if self.model.is_dir() else self.model)


@dataclass(frozen=True, kw_only=True)
class MakeSchema(Charging):
    """Make a schema from public rows: which columns are numbers, their bounds, which categories the others have.

    The rows must be public, and running this declares that they are: the schema shows their smallest and largest
    numbers and their categories. Nothing is spent. Use it with --schema of fit, answer and publish.

    With --private the rows are private records, and ε is spent: cuts of numbers and dates, and categories of texts, are
    released with differential privacy. The file states its guarantee. It may be used in any number of later releases,
    which pay for what they add to it. Drop the label: each column takes a share of ε. With --dry-run nothing is spent.

    Exit codes: 0 done; 1 a private schema was drawn and ε is spent, but it could not be written (it is printed); 2 bad
    input, or no room in the account, nothing was written or spent; 4 stopped (the message says whether ε was spent).
    """

    file: Annotated[
        Path,
        typer.Argument(
            help="PUBLIC rows: .csv, .csv.gz or .parquet. Private records, also a folder of .parquet files, with "
            "--private alone."
        ),
    ]
    private: Annotated[bool, "The rows are private records: release the schema with differential privacy, for ε."] = (
        False
    )
    epsilon: Annotated[float | None, "ε for the schema. With --private alone."] = None
    delta: Annotated[float | None, "δ for the schema, far below 1/n. With --private alone. Default: 1e-6."] = None
    types: Types = field(default_factory=list)
    out: Annotated[Path | None, "Where the schema goes: .toml or .json. Default: nowhere. Needed with --private."] = (
        None
    )
    drop: Drop = field(default_factory=list)
    most_categories: Annotated[
        int | None, typer.Option(min=1, help="The most categories that a column keeps. Default: 100.")
    ] = None
    groups: Annotated[
        str | None,
        "The column that says whose each row is. The guarantee is then about persons, and cuts and categories "
        "come from one row of each person. The column is no feature. Only with --private.",
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the schema is then NOT PRIVATE.")] = None
    overwrite: Overwrite = False

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.file,)

    @property
    def not_features(self) -> tuple[str, ...]:
        return (*self.drop, *(() if self.groups is None else (self.groups,)))


@dataclass(frozen=True, kw_only=True)
class Plan(Job):
    """What do I get, with which command? For instance: pcqr plan --n 20000 --columns 12 --epsilon 1 --queries 500.

    Uses public numbers alone: nothing private is read and nothing is spent. Recommends one command, says what it gave
    on real tables, and shows the others beside it.

    With --class (or --vc): what is proved and what is expected for that class. Leave out any one or two of --n,
    --epsilon, --alpha and --queries, and they are solved for.

    Exit codes: 0 answered, feasible or not; 2 bad input.
    """

    class_name: Annotated[
        str | None, class_option("The hypothesis class H, for what is proved. Without it: what to run.", planned=True)
    ] = None
    vc: Annotated[int | None, typer.Option(min=1, help="Instead of --class: any class of this VC dimension.")] = None
    intervals: Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")] = 2
    features: Annotated[
        int | None, typer.Option("--columns", "--features", min=1, help="The number of columns of the table.")
    ] = None
    records: Annotated[int | None, typer.Option("--n", min=1, help="n, the number of private records.")] = None
    epsilon: Annotated[float | None, "ε for everything that is released."] = None
    delta: Annotated[float | None, "δ, far below 1/n. Default: 1e-6."] = None
    queries: Annotated[int | None, typer.Option(min=1, help="m, the number of queries.")] = None
    alpha: Annotated[float | None, "The excess error over the best of the class."] = None
    beta: Annotated[float | None, "The chance of a larger excess error. Default: 0.05."] = None
    public: Annotated[int | None, typer.Option(min=1, help="The number of public rows without labels at hand.")] = None
    schema: Annotated[
        bool,
        typer.Option("--schema/--no-schema", help="Can a schema be written without a look at the private records?"),
    ] = False
    solve: Annotated[
        Literal["records", "alpha", "queries", "epsilon", "delta", "beta"] | None,
        "What to solve for. Default: the one of n, ε, α and m that is left out.",
    ] = None
    explain: Annotated[bool, "Derive every number, with its formula and proof."] = False
    plot: Annotated[Path | None, "Draw n against m, α against ε, k against T: .svg, .png, .pdf."] = None
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Demo(Job):
    """Show both main jobs on UCI Adult: publish a classifier, and answer one query at a time; compare them."""

    out: Folder = Path("out")
    fast: Annotated[bool, "Fewer records and queries."] = False


@dataclass(frozen=True, kw_only=True)
class Audit(Job):
    """Check, on this machine, that what is installed is as private as it claims, and that the check can fail.

    The exact law of small cases and many runs of the real code are compared with every claim. Every broken
    mechanism must be flagged. Nothing private is needed or touched.

    Exit codes: 0 all as expected; 1 something shipped was flagged, or a broken mechanism was not; 2 bad input.
    """

    full: Annotated[
        bool, typer.Option("--full/--fast", help="More cases, more queries, more runs: minutes instead of seconds.")
    ] = False
    out: Folder = Path("out")


@dataclass(frozen=True, kw_only=True)
class Bench(Job):
    """Compare: ours, the systems beside us and outside libraries, on the same data, at the same ε and δ.

    Each run is a process of its own and is stored when it ends; the same command goes on where it was stopped. Writes
    results.json (every run, with the command that makes it again), table.md and accuracy.png.

    Nothing here is private: runs are seeded, and accuracies are measured on rows of the table. Use data that you may
    look at.

    Exit codes: 0 done, also where a method failed, which its row says; 2 bad input; 4 stopped.
    """

    tables: Annotated[str | None, "Data sets, e.g. 'adult,bank'; toy and adult need no file. Default: adult."] = None
    data: Annotated[Path | None, "The folder of the Parquet files of the other data sets."] = None
    table: Annotated[Path | None, "A table of your own: .csv, .csv.gz or .parquet."] = None
    label: Annotated[str | None, "The column of --table that holds the label."] = None
    labels: Annotated[str | None, "Its labels, in order. Default: all that there are."] = None
    drop: Drop = field(default_factory=list)
    groups: Annotated[
        str | None, "The column of --table that says whose a row is: a person's rows stay together in the split."
    ] = None
    schema: SchemaFile = None
    epsilons: Annotated[str, "The ε to compare at."] = "0.01,0.03,0.1,0.3,1,4"
    delta: Annotated[float, "δ, the same for all."] = 1e-6
    methods: Annotated[str | None, "Which methods (--list names them). Default: all."] = None
    method: Annotated[list[str], "A method of your own, package.module:Class, besides. Repeat for more."] = field(
        default_factory=list
    )
    runs: Annotated[int, typer.Option(min=1, help="Runs of each: seeds 0, 1, …")] = 3
    seeds: Annotated[str | None, "These seeds instead, e.g. '3,4'."] = None
    queries: Annotated[int, typer.Option(min=1, help="How many queries methods get that answer one at a time.")] = 500
    public_rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many public rows without labels methods get. 0: only the columns and their kinds are public. "
            "Default: 2,000, at most half of the test part.",
        ),
    ] = None
    time_limit: Annotated[float, typer.Option(min=1.0, help="Seconds that one run may take.")] = 600.0
    out: Annotated[Path, "Where results go, and are found again."] = Path("bench")
    again: Annotated[bool, "Make these runs anew, also where they are on file."] = False
    retry: Annotated[bool, "Make runs anew that have failed."] = False
    show_errors: Annotated[bool, "Show what methods write to standard error. May show records."] = False
    install: Annotated[str | None, "Make the environment of a library: opacus, interpret, diffprivlib or dpmm."] = None
    environments: Annotated[Path | None, "Where these environments are. Default: the user's cache directory."] = None
    list_methods: Annotated[bool, typer.Option("--list", help="Name the methods, and run nothing.")] = False


@dataclass(frozen=True, kw_only=True)
class Datasets(Job):
    """List the data sets that come with pcqr, with their sources and licences."""


@dataclass(frozen=True, kw_only=True)
class CreateAccount(Job):
    """Make an account for a private table: what may ever be spent on it. Its terms are fixed for ever.

    Give its name as --account to every command that spends. What is charged stays charged, and what does not fit is
    refused before anything is drawn. One table, one account: nothing can see that two of them are about one table.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """

    place: Annotated[
        str,
        typer.Argument(
            help="A name, for the user's data directory (or PCQR_DATA_DIR), or a path that ends in .account.",
            metavar="NAME",
        ),
    ]
    epsilon: Annotated[float, "ε that all releases on the table together may have."]
    delta: Annotated[float, "δ that they may have, far below 1/n; 0 is possible with basic."]
    filter_name: Annotated[
        Literal["basic", "zcdp"],
        typer.Option(
            "--filter",
            help="How releases add up. basic: ε and δ do. zcdp: ρ, about ε²/2 or less, and δ do: better for many small "
            "releases, worse for a few large ones.",
        ),
    ] = "basic"
    unit: Annotated[
        Literal["record", "user"],
        "Whom it protects: one row, or all rows of a person. Releases about another are refused.",
    ] = "record"
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=1, help="With --unit user: the most rows that one has. Default: any number."),
    ] = None
    anchor: OfAccountAnchor = None
    accept_weak_guarantee: AcceptWeakGuarantee = False


@dataclass(frozen=True, kw_only=True)
class ShowAccount(Job):
    """Show what was spent, when and for what, and what remains. Nothing private is in an account.

    Exit codes: 0 done; 2 there is no such account, or it cannot be believed.
    """

    place: Place
    anchor: OfAccountAnchor = None
    plot: Annotated[Path | None, "Draw what was spent when, and for what: .svg, .png, .pdf."] = None
    verify: Annotated[bool, "Check every entry of the file, not only the last."] = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class AdoptAccount(Job):
    """Take an account that was moved or restored, and whose anchor is missing, to be the newest copy.

    The anchor is the account's last committed position, kept apart from it. Without an anchor, an older copy that has
    forgotten what was spent looks like the newest. The account records that you decided, and shows it for ever. With
    --write-off an older copy comes back, and all that remained of it counts as spent.

    Exit codes: 0 done; 2 there is no such account, or it is an older copy after all.
    """

    place: Place
    anchor: OfAccountAnchor = None
    write_off: Annotated[
        bool, "Adopt an older copy, too: all that remained of it counts as spent, and nothing more can be charged."
    ] = False


@dataclass(frozen=True, kw_only=True)
class ListAccounts(Job):
    """List all accounts that have a name, with what remains of each."""


@dataclass(frozen=True, kw_only=True)
class CreateKey(Job):
    """Make a key and print it, once: the file keeps its hash alone. A name is for ever, also when it is revoked.

    Limits hold for each release and for good: repeated queries are free, and what is used up stays used up.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """

    name: KeyName
    role: Annotated[
        Literal["asker", "holder"], "asker: asks, and sees its own answers. holder: sees everybody's, and the metrics."
    ]
    queries: Annotated[
        int | None, typer.Option(min=0, help="New queries that the key may ask of each release. Default: no limit.")
    ] = None
    unstable: Annotated[
        int | None,
        typer.Option(min=0, help="Unstable answers that the key may have of each release. Default: no limit."),
    ] = None
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class ListKeys(Job):
    """All keys with their roles and limits, the revoked ones too.

    Exit codes: 0 done; 2 the file cannot be read or believed.
    """

    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class LimitKey(Job):
    """Change the quotas of a key, up or down. A running server notices.

    What was used stays used: a key whose limit is lowered below that gets nothing new.

    Exit codes: 0 done; 2 there is no such key, or no limit was given.
    """

    name: KeyName
    queries: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|any", help="New queries that the key may ask of each release. Default: as it is."),
    ] = None
    unstable: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|any", help="Unstable answers that the key may have of each release. Default: as it is."
        ),
    ] = None
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class RenewKey(Job):
    """Make another key for a name, and print it, once: the old one lets nobody in any more, lost or revoked.

    Role, limits and what was used stay with the name; whoever has the new key sees the answers that were given under
    it. A server that runs notices at its next request.

    Exit codes: 0 done; 2 there is no such key.
    """

    name: KeyName
    keys: KeysPath = None


@dataclass(frozen=True, kw_only=True)
class RevokeKey(Job):
    """Let nobody in with this key any more. A server that runs notices at its next request.

    Exit codes: 0 done, also where it was revoked before; 2 there is no such key.
    """

    name: KeyName
    keys: KeysPath = None
