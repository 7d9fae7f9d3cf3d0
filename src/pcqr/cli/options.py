"""How options become a command: each is declared once, as a field of the dataclass that the command's work takes.

Imports nothing numerical: `pcqr --help` must not wait for numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from pcqr.cli.console import reporting
from pcqr.names import option_named

ClassName = Literal["thresholds", "intervals", "unions", "stumps", "rectangles", "halfspaces"]
AnsweringClass = Literal["thresholds", "intervals", "unions", "stumps", "rectangles", "halfspaces", "trees"]
Algorithm = Literal["subsamp", "agnostic", "universal"]


def _algorithm(text: str) -> str:
    found = option_named(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(get_args(Algorithm))}.")
    return found


AlgorithmOption = Annotated[
    Algorithm,
    typer.Option(
        parser=_algorithm,
        metavar="subsamp|agnostic|universal",
        autocompletion=lambda: list(get_args(Algorithm)),
        help="subsamp: votes; agnostic: relabel, then votes; universal: then publish a classifier. The names "
        "of the papers and of the estimators will do as well (docs/glossary.md).",
    ),
]

# What several commands ask for.
Private = Annotated[Path, typer.Option(help="The private records: .csv, .csv.gz or .parquet.")]
Label = Annotated[str, typer.Option(help="The column of the private records that holds the label.")]
SurelyPublic = Annotated[
    bool,
    typer.Option(
        "--surely-public",
        help="Do not compare the public rows (universal: the queries) with the private ones: few different rows exist.",
    ),
]
Drop = Annotated[list[str], typer.Option(help="A column to leave out. Repeat for more columns.")]
Intervals = Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")]
Folder = Annotated[Path, typer.Option(help="The directory that the picture is written to.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output where it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text; no progress bar.")]

Work = Callable[..., None]
"""What a command does: (job, as_json=…) → None."""


def command(app: typer.Typer, job: type[Any]) -> Callable[[Work], Work]:
    """Register a function as a command: the fields of the dataclass `job` and --json become its options, in this order.

    Its name and its docstring are those of the command. Errors are told as `reporting` says.
    """
    hints = get_type_hints(job, include_extras=True)
    options = [_keyword(field.name, hints[field.name], _default(field)) for field in fields(job)]
    options.append(_keyword("as_json", Json, False))

    def register(work: Work) -> Work:
        def called(*, as_json: bool, **given: Any) -> None:
            with reporting(as_json=as_json):
                work(job(**given), as_json=as_json)

        called.__name__, called.__doc__ = work.__name__, work.__doc__
        called.__annotations__ = {option.name: option.annotation for option in options}
        called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what typer reads
        app.command()(called)
        return work

    return register


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default
