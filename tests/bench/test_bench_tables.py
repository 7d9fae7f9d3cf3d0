"""Tables of a comparison: how they are split, and a user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pcqr import DataError, ParameterError, Schema
from pcqr.bench.tables import PUBLIC, SOURCES, load, own, queries_of, set_apart, toy
from pcqr.data.schema import Column


def write(path: Path, rows: int = 400) -> Path:
    lines = [f"{row % 50},{'abc'[row % 3]},{'yes' if row % 50 > 20 else 'no'},{row}" for row in range(rows)]
    path.write_text("\n".join(["age,job,y,number", *lines]), encoding="utf-8")
    return path


def test_the_toy_is_the_same_every_time_and_has_a_category() -> None:
    first, second = toy(), toy()
    assert first.fingerprint() == second.fingerprint()
    assert (len(first.X), len(first.public), len(first.X_test)) == (12_000, 2_000, 2_000)
    assert first.schema.columns[2].kind == "categorical"
    assert 0.5 < first.majority < 0.7


def test_public_rows_are_not_scored_and_at_most_half_of_the_test_part() -> None:
    public, test = set_apart(np.arange(5_000))
    assert len(public) == PUBLIC
    assert not set(public) & set(test)
    public, test = set_apart(np.arange(100))
    assert len(public) == len(test) == 50


def test_queries_are_others_for_every_seed() -> None:
    assert list(queries_of(900, 50, 1)) == list(queries_of(900, 50, 1)) != list(queries_of(900, 50, 2))
    assert len(set(queries_of(900, 50, 1))) == 50
    assert len(queries_of(30, 50, 1)) == 30


def test_an_own_table_is_split_and_encoded_by_its_public_rows(tmp_path: Path) -> None:
    task = own(write(tmp_path / "mine.csv"), "y", labels=None, drop=["number"])
    assert task.name == "mine"
    assert task.classes == 2
    assert (len(task.X), len(task.public), len(task.X_test)) == (300, 50, 50)
    assert task.schema.names == ("age", "job")
    assert np.array_equal(task.y, task.X[:, 0] > 20)  # no, yes
    assert np.array_equal(own(tmp_path / "mine.csv", "y", labels=["yes", "no"], drop=["number"]).y, task.X[:, 0] <= 20)


def test_with_nothing_public_there_are_cells_as_they_are_and_no_public_row(tmp_path: Path) -> None:
    write(tmp_path / "mine.csv")
    text = (tmp_path / "mine.csv").read_text(encoding="utf-8")
    (tmp_path / "mine.csv").write_text(text.replace("\n7,b,", "\n,,").replace("\n21,a,", "\n,,"), encoding="utf-8")
    task, usual = (own(tmp_path / "mine.csv", "y", labels=None, public_rows=rows) for rows in (0, None))
    assert task.raw is not None
    assert usual.raw is None
    assert task.public.shape == (0, task.X.shape[1])
    for cells, X in ((task.raw.X, task.X), (task.raw.X_test, task.X_test)):
        assert list(cells) == ["age", "job", "number"]
        assert np.isnan(cells["age"]).sum() == sum(job is None for job in cells["job"]) > 0
        known = ~np.isnan(cells["age"])
        limits = task.schema.columns[0].limits
        assert limits is not None
        clipped = np.clip(cells["age"][known], *limits)
        assert np.array_equal(clipped, X[known, task.schema.feature_names.index("age")])
        assert {job for job in cells["job"] if job is not None} == {"a", "b", "c"}
        assert np.array_equal(np.isnan(cells["age"]), np.array([job is None for job in cells["job"]]))
    assert np.array_equal(task.X, usual.X)  # of what is not private
    assert np.array_equal(task.X_test, usual.X_test)
    assert task.fingerprint() != usual.fingerprint()


def test_adult_has_cells_of_the_rows_that_are_scored() -> None:
    task, usual = load("adult", None, 0), load("adult", None)
    assert task.raw is not None
    assert np.array_equal(task.schema.encode(task.raw.X_test), usual.X_test)
    assert np.array_equal(task.schema.encode(task.raw.X), usual.X)


def test_methods_may_get_fewer_public_rows() -> None:
    few = toy(30)
    assert np.array_equal(few.public[:, :1], toy().public[:30, :1])
    assert np.array_equal(few.y_test, toy().y_test)
    with pytest.raises(ParameterError, match="--public-rows must be at most 2,000"):
        toy(2_001)
    with pytest.raises(ParameterError, match="--public-rows"):
        load("adult", None, 2_001)


def test_an_own_table_may_have_a_schema_and_several_labels(tmp_path: Path) -> None:
    schema = Schema((Column("age", bounds=(0, 30)), Column("number"), Column("y", "categorical", ("no", "yes"))))
    task = own(write(tmp_path / "mine.csv"), "job", labels=None, schema=schema)
    assert task.classes == 3
    assert task.X[:, 0].max() == 30.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "z"}, "--label must be the name of one of the 4 columns"),
        ({"label": "y", "drop": ["z"]}, "--drop must be"),
        ({"label": "y", "drop": ["age", "job", "number"]}, "a column besides the label"),
        ({"label": "y", "labels": ["no", "maybe"]}, "one of 2 to 127 labels in every row"),
        ({"label": "number"}, "one of 2 to 127 labels in every row"),
    ],
)
def test_an_own_table_that_does_not_do(options: dict[str, object], words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "mine.csv")
    with pytest.raises((ParameterError, DataError), match=words) as raised:
        own(path, **({"labels": None} | options))  # type: ignore[arg-type]
    assert "49" not in str(raised.value).replace(str(tmp_path), "")


def write_persons(path: Path, user_level: int = 200, rows: int = 3) -> Path:
    """`rows` rows a person, whose age is told by nobody else."""
    lines = [f"{user + 0.5},{'abc'[row]},{user % 2},p{user}" for row in range(rows) for user in range(user_level)]
    path.write_text("\n".join(["age,job,y,person", *lines]), encoding="utf-8")
    return path


def test_rows_of_a_person_are_on_one_side_of_the_split(tmp_path: Path) -> None:
    schema = Schema((Column("age"), Column("job", "categorical", ("a", "b", "c"))))
    task = own(write_persons(tmp_path / "mine.csv"), "y", labels=None, user="person", schema=schema)
    parts = [task.X, task.public, task.X_test]
    assert [len(part) for part in parts] == [450, 75, 75]
    ages = [set(part[:, 0]) for part in parts]
    assert [len(each) for each in ages] == [150, 25, 25]
    assert len(set.union(*ages)) == 200
    assert np.array_equal(task.y, np.floor(task.X[:, 0]) % 2)
    assert not np.array_equal(task.X[:, 0], np.sort(task.X[:, 0]))


def test_the_patients_of_a_known_table_are_on_one_side_of_the_split(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    patients = rng.integers(0, 300, size=1_000)
    told = {"encounter_id": range(1_000), "patient_nbr": 7 * patients, "weight": patients + 0.5}
    frame = pandas.DataFrame(told | {"readmitted": np.where(rng.random(1_000) < 0.5, "NO", ">30")})
    frame.to_parquet(tmp_path / SOURCES["diabetes"].file)
    task = load("diabetes", tmp_path)
    assert task.schema.names == ("weight",)
    ends = set(task.schema.columns[0].limits or ())  # what lies beyond is put there
    private, public, scored = (set(part[:, 0]) - ends for part in (task.X, task.public, task.X_test))
    assert not private & public
    assert not private & scored
    assert not public & scored
    assert len(task.public) <= len(task.X_test)


@pytest.mark.parametrize(
    ("user", "user_level", "words"),
    [
        ("z", 200, "--groups must be the name of one of the 4 columns"),
        ("y", 200, "--groups must be another column than those of --label and --drop"),
        ("person", 99, "at least 100 persons"),
    ],
)
def test_persons_that_do_not_do(user: str, user_level: int, words: str, tmp_path: Path) -> None:
    path = write_persons(tmp_path / "mine.csv", user_level)
    with pytest.raises((ParameterError, DataError), match=words):
        own(path, "y", labels=None, user=user)


def test_a_person_with_most_of_the_rows_leaves_public_rows_and_rows_to_score_on(tmp_path: Path) -> None:
    path = write_persons(tmp_path / "mine.csv", 100, 1)
    path.write_text(path.read_text(encoding="utf-8") + 900 * "\n7.5,a,1,p7", encoding="utf-8")
    task = own(path, "y", labels=None, user="person")
    assert len(task.public) > 0
    assert len(task.X_test) > 0


def test_a_table_too_small_or_unknown_or_without_its_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="at least 100 rows"):
        own(write(tmp_path / "small.csv", 60), "y", labels=None)
    with pytest.raises(ParameterError, match="--tables must be of toy, adult, bank"):
        load("moon", None)
    with pytest.raises(ParameterError, match="--data must be the folder of bank_marketing"):
        load("bank", None)
    assert len(SOURCES) == 4
