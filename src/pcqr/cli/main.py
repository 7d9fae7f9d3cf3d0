"""The command line. This file says which options there are; the work is in one file for each command.

The commands' own modules are imported when they are called, so that `pcqr --help` does not wait for numpy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from pcqr import __version__
from pcqr.cli.console import reporting
from pcqr.names import option_named

app = typer.Typer(
    name="pcqr",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a decorated traceback may show local values, and those are private
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"pcqr {__version__}")
        raise typer.Exit


ClassName = Literal["thresholds", "intervals", "unions", "stumps", "rectangles", "halfspaces"]
AnsweringClass = Literal["thresholds", "intervals", "unions", "stumps", "rectangles", "halfspaces", "trees"]
Algorithm = Literal["subsamp", "agnostic", "universal"]
SurelyPublic = Annotated[
    bool,
    typer.Option(
        "--surely-public",
        help="Do not compare the public rows (universal: the queries) with the private ones: few different rows exist.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output where it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text; no progress bar.")]


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Answer classification queries on private records under differential privacy, then publish a classifier."""


def _algorithm(text: str) -> str:
    found = option_named(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(get_args(Algorithm))}.")
    return found


@app.command()
def answer(
    *,
    private: Annotated[Path, typer.Option(help="The private records: .csv, .csv.gz or .parquet.")],
    label: Annotated[str, typer.Option(help="The column of the private records that holds the label.")],
    queries: Annotated[Path, typer.Option(help="The points to label, with the same feature columns in any order.")],
    epsilon: Annotated[float, typer.Option(help="ε for everything that this run releases.")],
    delta: Annotated[float, typer.Option(help="δ for everything that this run releases; far below 1/n.")],
    out: Annotated[
        Path | None, typer.Option(help="Where the answers go: .csv, .csv.gz or .parquet. Needed but for --preview.")
    ] = None,
    preview: Annotated[
        bool,
        typer.Option(
            "--preview",
            help="Spend nothing: say what the run would promise, plan and use up. Of the private file only the column "
            "names and the number of rows are used.",
        ),
    ] = False,
    class_name: Annotated[
        AnsweringClass, typer.Option("--class", help="The hypothesis class H. trees need --public or --schema.")
    ] = "stumps",
    depth: Annotated[int | None, typer.Option(min=1, help="The depth of --class trees.")] = None,
    intervals: Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")] = 2,
    algorithm: Annotated[
        Algorithm,
        typer.Option(
            parser=_algorithm,
            metavar="subsamp|agnostic|universal",
            autocompletion=lambda: list(get_args(Algorithm)),
            help="subsamp: votes; agnostic: relabel, then votes; universal: then publish a classifier. The names "
            "of the papers and of the estimators will do as well (docs/glossary.md).",
        ),
    ] = "agnostic",
    model_out: Annotated[
        Path | None,
        typer.Option(help="universal: the folder of the published model. Default: NAME.model beside the answers."),
    ] = None,
    publish_after: Annotated[
        int | None, typer.Option(min=1, help="universal: votes before it publishes. Default: half of the queries.")
    ] = None,
    mode: Annotated[
        Literal["calibrated", "paper"], typer.Option(help="paper: the paper's constants, for 10⁹ records and more.")
    ] = "calibrated",
    alpha: Annotated[float, typer.Option(help="The excess error that is planned for.")] = 0.1,
    beta: Annotated[float, typer.Option(help="The probability of a larger excess error that is planned for.")] = 0.05,
    on_unstable: Annotated[
        Literal["abstain", "random"], typer.Option(help="An unstable query gets no label, or a random one.")
    ] = "abstain",
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public rows without labels: trees make their questions, and all classes the schema, of them."
        ),
    ] = None,
    surely_public: SurelyPublic = False,
    schema: Annotated[Path | None, typer.Option(help="The columns, categories and bounds: .toml or .json.")] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(help="Declare a categorical column, e.g. 'sex=Female,Male'. Repeat for more columns."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out. Repeat for more columns.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="The two labels, negative first, e.g. '<=50K,>50K'. Default: 0 and 1.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the answers are then NOT PRIVATE.")] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print every answer once it is on disk, as a line of the output.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Label the queries, one at a time. Each run is a new release and costs ε and δ anew.

    Columns hold numbers unless their categories are declared; nothing is ever read off the private records to find
    out. The answers have three columns: row (1 is the first query), label (empty where there is none) and kind.

    While they come they are in FILE.part.csv beside the output, each on disk before it is shown. Should the run be
    stopped, by Ctrl-C, a kill or a full disk, all that was given is there.

    A universal run writes its model as soon as that is published: pcqr predict applies it, at no cost.

    With --preview nothing is answered and nothing is spent.

    Exit codes: 0 done; 1 all answers are there, but the model could not be written (it is printed); 2 bad input,
    nothing was spent; 3 the release halted before the last query (the answers given until then are in the output);
    4 stopped before the end (the answers given until then are in FILE.part.csv).
    """
    with reporting(as_json=as_json):
        from pcqr.cli import answer as command  # noqa: PLC0415

        act = command.preview if preview else command.run
        act(
            command.Job(
                private=private,
                label=label,
                queries=queries,
                out=out,
                model_out=model_out,
                class_name=class_name,
                intervals=intervals,
                depth=depth,
                algorithm=algorithm,
                publish_after=publish_after,
                epsilon=epsilon,
                delta=delta,
                alpha=alpha,
                beta=beta,
                mode=mode,
                on_unstable=on_unstable,
                public=public,
                surely_public=surely_public,
                schema=schema,
                categories=tuple(categories or ()),
                drop=tuple(drop or ()),
                labels=labels,
                seed=seed,
                show=show,
                overwrite=overwrite,
            ),
            as_json=as_json,
        )


@app.command()
def publish(
    *,
    private: Annotated[Path, typer.Option(help="The private records: .csv, .csv.gz or .parquet.")],
    label: Annotated[str, typer.Option(help="The column of the private records that holds the label.")],
    epsilon: Annotated[float, typer.Option(help="ε for the published model.")],
    out: Annotated[Path, typer.Option(help="The directory that the model is written to.")],
    delta: Annotated[
        float | None,
        typer.Option(help="δ for boosted and linear models, far below 1/n. A tree is pure and needs none."),
    ] = None,
    method: Annotated[
        Literal["auto", "tree", "linear", "counted", "compared", "boosted"] | None,
        typer.Option(
            help="What to publish; counted: a tree where one label is rare, else a linear model, by a private count; "
            "compared: the better of the two, privately. "
            "Default: tree, or with --delta auto, which chooses from n and ε."
        ),
    ] = None,
    public: Annotated[
        Path | None, typer.Option(help="Public rows without labels, from which the tree's questions are made.")
    ] = None,
    surely_public: SurelyPublic = False,
    schema: Annotated[
        Path | None,
        typer.Option(help="The columns, categories and bounds: .toml or .json. Default: read from the public rows."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="The depth of the tree. Default: 4, or less on large tables.")
    ] = None,
    operations: Annotated[float, typer.Option(help="Refuse a depth that takes more word operations.")] = 2e11,
    labels: Annotated[
        str | None,
        typer.Option(help="The label names, which are public, e.g. '<=50K,>50K'. Default: 0 and 1."),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out. Repeat for more columns.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For tests only: the model is then NOT PRIVATE.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Publish a classifier that everybody may use. Each run is a new release and costs ε anew.

    The questions that it may ask come from public rows or from a declared schema, never from the private records.
    Writes model.json, rules.txt, card.md and, with the extras plot and onnx, a picture (.svg) and model.onnx.

    model.json comes first: once the model is drawn, nothing comes between it and the disk.

    Exit codes: 0 done; 1 the model was drawn and ε is spent, but something failed afterwards;
    2 bad input, nothing was spent; 4 stopped (the message says whether a model was drawn).
    """
    with reporting(as_json=as_json):
        from pcqr.cli.publish import Job, run  # noqa: PLC0415

        run(
            Job(
                private=private,
                label=label,
                public=public,
                surely_public=surely_public,
                schema=schema,
                epsilon=epsilon,
                delta=delta,
                method=method,
                out=out,
                depth=depth,
                operations=operations,
                labels=labels,
                drop=tuple(drop or ()),
                seed=seed,
                overwrite=overwrite,
            ),
            as_json=as_json,
        )


@app.command()
def predict(
    *,
    model: Annotated[
        Path, typer.Argument(help="A published model: the folder that pcqr publish or answer wrote, or its model.json.")
    ],
    file: Annotated[Path, typer.Argument(help="The rows to label: .csv, .csv.gz or .parquet.")],
    out: Annotated[Path, typer.Option(help="Where the labels go: .csv, .csv.gz or .parquet.")],
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out. Repeat for more columns.")] = None,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Add the scores of a linear or boosted model. They are no probabilities."),
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Apply a published model to a file. Costs nothing, however often; needs no private data.

    Columns are found by name, in any order. The predictions have the columns row (1 is the first) and label.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """
    with reporting(as_json=as_json):
        from pcqr.cli.predict import Job, run  # noqa: PLC0415

        run(Job(model, file, out, tuple(drop or ()), scores, overwrite), as_json=as_json)


@app.command()
def schema(
    *,
    file: Annotated[Path, typer.Argument(help="PUBLIC rows: .csv, .csv.gz or .parquet. Never private records.")],
    out: Annotated[Path | None, typer.Option(help="Where the schema goes: .toml or .json. Default: nowhere.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out. Repeat for more columns.")] = None,
    most_categories: Annotated[int, typer.Option(min=1, help="The most categories that a column keeps.")] = 100,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make a schema from public rows: which columns are numbers, their bounds, which categories the others have.

    The rows must be public, and running this declares that they are: the schema shows their smallest and largest
    numbers and their categories. Nothing is spent. Use it with --schema of answer and publish.

    Exit codes: 0 done; 2 bad input, nothing was written.
    """
    with reporting(as_json=as_json):
        from pcqr.cli.schema import run  # noqa: PLC0415

        run(
            file,
            out=out,
            drop=tuple(drop or ()),
            most_categories=most_categories,
            overwrite=overwrite,
            as_json=as_json,
        )


@app.command()
def plan(
    *,
    class_name: Annotated[
        ClassName | None,
        typer.Option("--class", help="The hypothesis class H, for what is proved. Without it: what to run."),
    ] = None,
    vc: Annotated[int | None, typer.Option(min=1, help="Instead of --class: any class of this VC dimension.")] = None,
    intervals: Annotated[int, typer.Option(min=1, help="The number of intervals of --class unions.")] = 2,
    features: Annotated[
        int | None, typer.Option("--columns", "--features", min=1, help="The number of columns of the table.")
    ] = None,
    records: Annotated[int | None, typer.Option("--n", min=1, help="n, the number of private records.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="ε for everything that is released.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ, far below 1/n. Default: 1e-6.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="m, the number of queries.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The excess error over the best of the class.")] = None,
    beta: Annotated[float | None, typer.Option(help="The chance of a larger excess error. Default: 0.05.")] = None,
    public: Annotated[int | None, typer.Option(min=1, help="The number of public rows without labels at hand.")] = None,
    schema: Annotated[
        bool,
        typer.Option("--schema/--no-schema", help="Can a schema be written without a look at the private records?"),
    ] = True,
    solve: Annotated[
        Literal["records", "alpha", "queries", "epsilon", "delta", "beta"] | None,
        typer.Option(help="What to solve for. Default: the one of n, ε, α and m that is left out."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Derive every number, with its formula and proof.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw n against m, α against ε, k against T: .svg, .png, .pdf.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """What do I get, with which command? For instance: pcqr plan --n 20000 --columns 12 --epsilon 1 --queries 500.

    Uses public numbers alone: nothing private is read and nothing is spent. Recommends one command, says what it gave
    on real tables, and shows the others beside it.

    With --class (or --vc): what is proved and what is expected for that class. Leave out any one or two of --n,
    --epsilon, --alpha and --queries, and they are solved for.

    Exit codes: 0 answered, feasible or not; 2 bad input.
    """
    with reporting(as_json=as_json):
        from pcqr.cli.plan import Job, run  # noqa: PLC0415

        run(
            Job(
                class_name=class_name,
                vc=vc,
                intervals=intervals,
                features=features,
                records=records,
                epsilon=epsilon,
                delta=delta,
                queries=queries,
                alpha=alpha,
                beta=beta,
                public=public,
                schema=schema,
                solve=solve,
                explain=explain,
                plot=plot,
                overwrite=overwrite,
            ),
            as_json=as_json,
        )


@app.command()
def demo(
    *,
    out: Annotated[Path, typer.Option(help="The directory that the picture is written to.")] = Path("out"),
    fast: Annotated[bool, typer.Option("--fast", help="Fewer records and queries.")] = False,
    as_json: Json = False,
) -> None:
    """Show both main jobs on UCI Adult: publish a classifier, and answer one query at a time; compare them."""
    with reporting(as_json=as_json):
        from pcqr.cli.demo import run  # noqa: PLC0415

        run(out, fast=fast, as_json=as_json)


@app.command()
def audit(
    *,
    full: Annotated[
        bool, typer.Option("--full/--fast", help="More cases, more queries, more runs: minutes instead of seconds.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The directory that the picture is written to.")] = Path("out"),
    as_json: Json = False,
) -> None:
    """Check, on this machine, that what is installed is as private as it claims, and that the check can fail.

    The exact law of small cases and many runs of the real code are compared with every claim; a zoo of broken
    mechanisms must be flagged. Nothing private is needed or touched.

    Exit codes: 0 all as expected; 1 something shipped was flagged, or a bug of the zoo escaped; 2 bad input.
    """
    with reporting(as_json=as_json):
        from pcqr.cli.audit import run  # noqa: PLC0415

        run(out, full=full, as_json=as_json)


@app.command()
def datasets(*, as_json: Json = False) -> None:
    """List the data sets that come with pcqr, with their sources and licences."""
    with reporting(as_json=as_json):
        from pcqr.cli.datasets import run  # noqa: PLC0415

        run(as_json=as_json)
