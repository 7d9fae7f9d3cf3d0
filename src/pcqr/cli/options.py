"""How options become a command: each is declared once, as a field of the dataclass that the command's work takes.

Imports nothing numerical: `pcqr --help` must not wait for numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from pcqr import registry
from pcqr.cli.console import reporting
from pcqr.cli.stopping import to_the_end
from pcqr.errors import ParameterError


def algorithms() -> list[str]:
    """What `--algorithm` may be; the simplest come first."""
    return [entry.option for entry in reversed(registry.algorithms()) if entry.option is not None]


def classes() -> list[str]:
    """What `--class` may be."""
    return [entry.option for entry in registry.classes() if entry.option is not None]


def planned_classes() -> list[str]:
    """What it may be for `pcqr plan`: what a class costs that is made of public rows depends on them."""
    return [name for name in classes() if not registry.hypothesis_class(name).needs_public]


def _algorithm(text: str) -> str:
    return _one_of(text, registry.algorithm, algorithms())


def _class(text: str) -> str:
    return _one_of(text, registry.hypothesis_class, classes())


def _planned_class(text: str) -> str:
    return _one_of(text, registry.hypothesis_class, planned_classes())


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


AnsweringClass = Annotated[
    str,
    typer.Option(
        "--class",
        parser=_class,
        metavar="|".join(classes()),
        autocompletion=classes,
        help="The hypothesis class H. trees need --public or --schema.",
    ),
]
FittedClass = Annotated[
    str | None,
    typer.Option(
        "--class",
        parser=_class,
        metavar="|".join(classes()),
        autocompletion=classes,
        help="The hypothesis class H of releases that vote. trees need --public or --schema. Default: stumps with "
        "--algorithm agnostic or subsamp. With neither --class nor --algorithm a classifier is published.",
    ),
]
PlannedClass = Annotated[
    str | None,
    typer.Option(
        "--class",
        parser=_planned_class,
        metavar="|".join(planned_classes()),
        autocompletion=planned_classes,
        help="The hypothesis class H, for what is proved. Without it: what to run.",
    ),
]
AlgorithmOption = Annotated[
    str,
    typer.Option(
        parser=_algorithm,
        metavar="|".join(algorithms()),
        autocompletion=algorithms,
        help="subsamp: votes on the labels as they are. agnostic: votes, or one draw from a fixed class. universal: "
        "relabel, vote, then publish a classifier. Names of the papers and of the estimators will do as well, such as "
        "AgPrivCl or AgnosticRelease.",
    ),
]
FittedAlgorithm = Annotated[
    str | None,
    typer.Option(
        parser=_algorithm,
        metavar="|".join(algorithms()),
        autocompletion=algorithms,
        help="Default: universal, which publishes a classifier at once and answers every query by it. universal with "
        "--class or another option of votes: relabel, vote, then publish a classifier. subsamp: votes on the labels as "
        "they are. agnostic, the default with --class: votes, or one draw from a fixed class. Names of the papers and "
        "of the estimators will do as well.",
    ),
]

# What several commands ask for.
Private = Annotated[
    Path,
    typer.Option(
        help="The private records: .csv, .csv.gz or .parquet, or a folder of .parquet files. Folders and large Parquet "
        "files are read part by part, and need not fit into memory."
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        help="A directory for scratch files, on a disk that is trusted with the private records, where they are read "
        "part by part. They have no names and are gone when the run ends. Default: TMPDIR."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="A Dask cluster that keeps Parquet files in the memory of its workers and works on them: tcp://HOST:PORT, "
        "tls://HOST:PORT, or local for workers on this machine. Scheduler, workers and network see private records."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="How many workers of one thread to start on this machine. Default: one for each core."),
]
Label = Annotated[str, typer.Option(help="The column of the private records that holds the label.")]
PublishedMethod = Annotated[
    Literal["auto", "tree", "linear"] | None,
    typer.Option(
        help="What to publish. tree: a decision tree. linear: a linear classifier. auto: a tree where n·ε is below "
        "3,000 (2,000 with --class-weight balanced, two labels and public rows), else a linear classifier with a tree "
        "beside it. Default: auto with --delta, tree without."
    ),
]
LinearReads = Annotated[
    Literal["auto", "predicates", "dense"],
    typer.Option(
        help="What a linear classifier reads. predicates: public predicates such as age > 30. dense: the columns "
        "themselves, as an encoder of images or texts made them. auto: dense for a table of more than 100 numeric "
        "columns and nothing else."
    ),
]
Device = Annotated[
    Literal["cpu", "cuda", "auto"],
    typer.Option(help="Where to count and add up: the same model, to the last bit. auto: on a GPU if there is one."),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        help="The column of the private records that says whose each row is. It is no feature, and the guarantee is "
        "then about persons, all rows of one together. Their number is public."
    ),
]
GroupRows = Annotated[
    int,
    typer.Option(
        min=1, help="How many rows of a person may count: 1 for few errors a person, more for few errors a row."
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        help="Weights of the labels: 'no=1,yes=10', or balanced, which spends a tenth of ε on noisy counts of them. "
        "The largest weight counts as one record, the least is a 64th of it."
    ),
]
WeightColumn = Annotated[
    str | None,
    typer.Option(
        help="The column of the private records that says what each row counts, 0 or more. It is no feature, and as "
        "private as the record."
    ),
]
WeightBound = Annotated[
    float,
    typer.Option(help="The largest weight that counts as given: larger ones are cut to it. It counts as one record."),
]
AssumePublic = Annotated[
    bool,
    typer.Option(
        "--assume-public",
        help="Do not compare the public rows (universal: the queries) with the private ones: few different rows exist.",
    ),
]
Drop = Annotated[list[str], typer.Option(help="A column to leave out. Repeat for more columns.")]
Intervals = Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")]
Folder = Annotated[Path, typer.Option(help="The directory that the picture is written to.")]
AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account",
        help="The account of the private table, a name or a path (pcqr account): charged before anything is drawn, and "
        "what does not fit is refused. A run that spends needs it, or --no-account.",
    ),
]
NoAccount = Annotated[
    bool,
    typer.Option("--no-account", help="Spend without an account: nothing remembers what this run has spent."),
]
AcceptWeakGuarantee = Annotated[
    bool,
    typer.Option(
        "--accept-weak-guarantee",
        help="Run although ε or δ is so large that the guarantee protects little: ε above 10, δ from 1/n or 0.001 on.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Spend and write nothing: say what the run would promise, plan and use up, and what would remain of the "
        "account. Of the private file only the column names and the number of rows are used; with --groups the "
        "column of ids, for the number of persons. Exit code 2 where the run would be refused.",
    ),
]
AccountAnchorOption = Annotated[
    Path | None,
    typer.Option("--account-anchor", help="Where the account's anchor is, if not in the user's state directory."),
]
OfAccountAnchor = Annotated[
    Path | None,
    typer.Option(
        "--anchor",
        help="Where is remembered how far the account has come, away from it. Default: the user's state directory. "
        "Elsewhere, name it in every command: --anchor of pcqr account, --account-anchor of those that spend.",
    ),
]
Mode = Annotated[
    Literal["calibrated", "paper"], typer.Option(help="paper: the paper's constants, for 10⁹ records and more.")
]
OnUnstable = Annotated[
    Literal["abstain", "random"], typer.Option(help="An unstable query gets no label, or a random one.")
]
VoteOption = Annotated[
    Literal["auto", "stability", "noisy max"],
    typer.Option(
        help="subsamp, agnostic: what makes votes private. stability: a test of each vote, which gives no label where "
        "teachers disagree. 'noisy max': noise on each vote, which answers as many new queries as planned. auto: the "
        "planner decides from public numbers. agnostic needs no votes for trees with --public or --schema."
    ),
]
Depth = Annotated[int | None, typer.Option(min=1, help="The depth of --class trees.")]
Alpha = Annotated[float, typer.Option(help="The excess error that is planned for.")]
Beta = Annotated[float, typer.Option(help="The probability of a larger excess error that is planned for.")]
PublicRows = Annotated[
    Path | None,
    typer.Option(help="Public rows without labels: the predicates of trees and the schema are made from them."),
]
SchemaFile = Annotated[Path | None, typer.Option(help="The columns, categories and bounds: .toml or .json.")]
Categories = Annotated[
    list[str],
    typer.Option(help="Declare a categorical column, e.g. 'sex=Female,Male'. Repeat for more columns."),
]
Types = Annotated[
    list[str],
    typer.Option(
        help="The kinds of columns, which are public: age=number,job=text,born=date,member=boolean. Repeat for more. "
        "A CSV file has no types, so give all kinds. For a Parquet file give those that differ from its types."
    ),
]
VotedLabels = Annotated[
    str | None,
    typer.Option(
        help="The labels, negative first, e.g. '<=50K,>50K'. More than two without votes, or for subsamp with trees. "
        "Default: 0 and 1."
    ),
]
ReleasePlace = Annotated[Path, typer.Argument(help="The directory that pcqr fit has made.", metavar="RELEASE")]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger", help="Where the log of answers is, if not in the directory: a file, or the address of PostgreSQL."
    ),
]
AnchorOption = Annotated[
    Path | None,
    typer.Option(
        "--anchor",
        help="Where the last reply is remembered, away from the release. Default: the user's state directory.",
    ),
]
KeyOption = Annotated[
    str | None, typer.Option("--key", help="Where the key is that encrypts the secrets: file:PATH or env:NAME.")
]
AskedPlace = Annotated[
    str,
    typer.Argument(
        help="The directory that pcqr fit has made, or where pcqr serve has it: http://HOST:PORT/NAME.",
        metavar="RELEASE",
    ),
]
AskedKey = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="Where the key is, file:PATH or env:NAME: the one that encrypts the secrets of a directory, or the one "
        "that a server knows us by. Default for a server: the variable PCQR_KEY.",
    ),
]
Certificates = Annotated[
    Path | None, typer.Option("--ca", help="For https: a file of certificates to trust, instead of this machine's.")
]
Place = Annotated[str, typer.Argument(help="The account: a name, or a path.", metavar="NAME")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run has written there.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text; no progress bar.")]

Work = Callable[..., None]
"""What a command does: (job, as_json=…) → None."""


def command(app: typer.Typer, job: type[Any], name: str | None = None) -> Callable[[Work], Work]:
    """Register a function as a command: the fields of the dataclass `job` and --json become its options, in this order.

    Its name, but for `name`, and its docstring are those of the command. Errors are told as `reporting` says.
    """
    hints = get_type_hints(job, include_extras=True)
    options = [_keyword(field.name, hints[field.name], _default(field)) for field in fields(job)]
    options.append(_keyword("as_json", Json, False))

    def register(work: Work) -> Work:
        def called(*, as_json: bool, **given: Any) -> None:
            with reporting(as_json=as_json), to_the_end():
                work(job(**given), as_json=as_json)

        called.__name__, called.__doc__ = work.__name__, _unwrapped(work.__doc__)
        called.__annotations__ = {option.name: option.annotation for option in options}
        called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what typer reads
        app.command(name)(called)
        return work

    return register


def _unwrapped(text: str | None) -> str:
    """One line a paragraph: the terminal breaks lines, not the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
