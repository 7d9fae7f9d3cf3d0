"""Columns of dates: days since 1970-01-01, alike from files, frames and lists, and read aloud as dates."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import NAME, TABLES, built

from pcqr import SemiPrivateLearner
from pcqr.data.schema import Column, Schema
from pcqr.errors import DataError
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel

ADMITTED = Column("admitted", "date", bounds=("2010-01-01", "2019-12-31"), missing=True)
SCHEMA = Schema((ADMITTED,))
DAYS = [datetime.date(2014, 5, 3), datetime.date(2011, 1, 1), datetime.date(2009, 12, 31), None]


def day(date: str) -> int:
    return (datetime.date.fromisoformat(date) - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize("kind", TABLES)
def test_public_dates_declare_a_date(kind: str) -> None:
    """Names of a dictionary type stay names."""
    table = built(kind, DAYS)
    assert table is not None
    (column,) = Schema.from_public(table, drop=("row",)).columns
    if "categories" in kind or "dictionary" in kind:
        assert column.kind == "categorical"
    else:
        assert column == Column(NAME, "date", bounds=("2009-12-31", "2014-05-03"), missing=True)


@given(st.datetimes(timezones=st.timezones()))
def test_the_day_is_that_in_utc(moment: datetime.datetime) -> None:
    schema = Schema((Column("a", "date"),))
    local = moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
    in_utc = (local - (moment.utcoffset() or datetime.timedelta(0))).days
    for value in (moment, moment.isoformat(), str(moment)):
        assert schema.encode({"a": [value]}).tolist() == [[in_utc]]


@pytest.mark.parametrize("value", [3, 2.5, True, "3/5/2014", "20140503", "2014-02-30", "2014-05-03T25:00", "x"])
def test_what_is_no_date_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match="column 'admitted' of the table must be dates, such as 2014-05-03") as caught:
        SCHEMA.encode({"admitted": [value]})
    assert str(value) not in str(caught.value).replace("2014-05-03", "")
    with pytest.raises(DataError, match="column 'a' of the table must be dates without gaps"):
        Schema((Column("a", "date"),)).encode({"a": ["2014-05-03", None]})


def test_files_keep_dates(tmp_path: Path) -> None:
    SCHEMA.to_toml(tmp_path / "schema.toml")
    assert Schema.from_toml(tmp_path / "schema.toml") == SCHEMA
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    (tmp_path / "by hand.toml").write_text(
        '[[columns]]\nname = "admitted"\nkind = "date"\nbounds = [2010-01-01, 2019-12-31]\nmissing = true\n'
    )
    assert Schema.from_toml(tmp_path / "by hand.toml") == SCHEMA


def test_questions_name_the_last_date_that_is_not_above() -> None:
    cut = day("2014-05-03")
    for value in (cut, cut + 0.5, cut + 0.99):
        assert SCHEMA.question(0, value) == ("admitted > 2014-05-03", "admitted ≤ 2014-05-03")
    assert SCHEMA.question(0, float("inf")) == ("admitted > inf", "admitted ≤ inf")
    assert SCHEMA.question(1, 0.5) == ("admitted is missing", "admitted is not missing")


def test_a_published_model_speaks_of_dates() -> None:
    rng = np.random.default_rng(0)
    table = {"admitted": [(np.datetime64("2010-01-01") + d) for d in rng.integers(0, 3650, 2000)]}
    y = (np.array(table["admitted"]) > np.datetime64("2014-12-31")).astype(int)
    learner = SemiPrivateLearner(DecisionTrees(depth=1, cuts=9), 4.0, entropy=0).fit(table, y, schema=SCHEMA)
    model = PublishedModel.from_learner(learner)
    assert "admitted > 20" in model.rules()
    assert "A missing admitted counts as 2010-01-01." in model.card()
    assert "dates, may be missing, clipped to 2010-01-01 … 2019-12-31" in model.card()
    again = PublishedModel.from_json(model.to_json())
    assert (again.predict(table) == model.predict(table)).all()
    assert (model.predict(table) == y).mean() > 0.9
