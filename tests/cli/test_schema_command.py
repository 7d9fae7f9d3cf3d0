"""`pcqr schema`: a schema from rows that the user says are public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import said
from typer.testing import CliRunner, Result

import pcqr.cli.schema as command
from pcqr import Schema
from pcqr.cli.console import Stopped
from pcqr.cli.inputs import declared_types
from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.errors import ParameterError
from pcqr.privacy.unit import USER
from pcqr.release import Account

ROWS: dict[str, list[Any]] = {
    "age": [20, 31, 64, None],
    "job": ["nurse", "clerk", "nurse", "poet"],
    "member": [True, False, True, True],
    "income": ["low", "high", "low", "low"],
}


def make(directory: Path, *options: str, file: str = "public.parquet") -> Result:
    return CliRunner().invoke(app, ["schema", str(directory / file), *options])


@pytest.fixture
def public(tmp_path: Path) -> Path:
    write_table(tmp_path / "public.parquet", ROWS)
    return tmp_path


def test_it_says_what_each_column_is_and_that_the_rows_must_be_public(public: Path) -> None:
    result = make(public, "--drop", "income")
    assert result.exit_code == 0, result.output
    words = said(result)
    assert "must be public" in words
    assert "3 columns from 4 public rows" in words
    for part in ("age", "20 … 64", "clerk, nurse, poet", "may be missing", "any other"):
        assert part in words
    assert "income" not in words
    assert "Nothing was written" in words
    assert "must be public" in " ".join(CliRunner().invoke(app, ["schema", "--help"]).output.split())


@pytest.mark.parametrize(("name", "read"), [("schema.toml", Schema.from_toml), ("schema.json", Schema.from_json)])
def test_what_it_writes_reads_back(public: Path, name: str, read: object) -> None:
    result = make(public, "--out", str(public / name), "--most-categories", "1", "--drop", "income")
    assert result.exit_code == 0, result.output
    assert callable(read)
    assert read(public / name) == Schema.from_public(ROWS, drop=("income",), most_categories=1)
    assert name in result.output


def test_a_column_with_too_many_values_is_pointed_out(public: Path) -> None:
    write_table(public / "public.parquet", ROWS | {"the id": ["a", "b", "c", "d"]})
    words = said(make(public, "--most-categories", "3"))
    assert "the id has 4 different values" in words
    assert "--drop 'the id'" in words
    assert "job has" not in words


def test_identifiers_and_free_text_are_pointed_out_and_remembered(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {name: (values * 30)[:120] for name, values in ROWS.items()}
    rows |= {"the notes": [f"said {row * row}" for row in range(120)], "number": list(range(120))}
    write_table(tmp_path / "public.parquet", rows)
    result = make(tmp_path, "--out", str(tmp_path / "schema.toml"))
    words = said(result)
    assert "Hardly any value of the notes occurs twice: an identifier or free text" in words
    assert "--drop 'the notes'" in words
    assert "--drop number" in words
    assert "different values" not in words
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert schema.near_unique == ("the notes", "number")
    assert schema.columns[4].categories == ()
    described = json.loads(make(tmp_path, "--json", "--drop", "number").stdout)
    assert described["near_unique"] == ["the notes"]


def test_json_for_machines(public: Path) -> None:
    summary = json.loads(make(public, "--json", "--out", str(public / "schema.toml")).stdout)
    assert summary["rows"] == 4
    assert Schema.from_dict(summary["schema"]) == Schema.from_public(ROWS)
    assert summary["out"] == str(public / "schema.toml")
    assert "public" in summary["declares"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--drop", "wages"), "--drop must be the name of a column"),
        (("--out", "schema.yaml"), "--out must be a name that ends in .toml or .json"),
        (("--most-categories", "0"), "most-categories"),
        (("--drop", "age", "--drop", "job", "--drop", "member", "--drop", "income"), "--drop must be fewer columns"),
    ],
)
def test_what_it_refuses(public: Path, options: tuple[str, ...], message: str) -> None:
    result = make(public, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_no_file_is_replaced_unasked(public: Path) -> None:
    target = public / "schema.toml"
    target.write_text("mine")
    refused = make(public, "--out", str(target))
    assert refused.exit_code == 2
    assert "--overwrite" in refused.stderr
    assert target.read_text() == "mine"
    target.unlink()
    for more in ((), ("--overwrite",)):
        assert make(public, "--out", str(target), *more).exit_code == 0
    assert Schema.from_toml(target).names == tuple(ROWS)


# --private ------------------------------------------------------------------------------------------------------------

RECORDS = 2_500
GENERATOR = np.random.default_rng(0)
PRIVATE: dict[str, list[Any]] = {
    "age": GENERATOR.integers(18, 90, RECORDS).tolist(),
    "job": ["zebra", *GENERATOR.choice(["cook", "nurse"], RECORDS - 1).tolist()],
    "income": GENERATOR.choice(["low", "high"], RECORDS).tolist(),
}
TYPES = ("--types", "age=number,job=text")


@pytest.fixture
def private(home: Path) -> Path:
    write_table(home / "private.csv", PRIVATE)
    write_table(home / "private.parquet", PRIVATE)
    return home


def release(directory: Path, *options: str, file: str = "private.csv", given: tuple[str, ...] = TYPES) -> Result:
    epsilon = () if "--epsilon" in options else ("--epsilon", "1")
    account = () if "--account" in options or "--dry-run" in options else ("--no-account",)
    out = () if "--out" in options or "--dry-run" in options else ("--out", str(directory / "schema.toml"))
    return make(directory, "--private", *given, "--drop", "income", *epsilon, *account, *out, *options, file=file)


@pytest.mark.parametrize("file", ["private.csv", "private.parquet"])
@pytest.mark.parametrize(("name", "read"), [("s.toml", Schema.from_toml), ("s.json", Schema.from_json)])
def test_the_released_schema_is_that_of_python(private: Path, file: str, name: str, read: Any) -> None:
    given = TYPES if file == "private.csv" else ()
    result = release(private, "--seed", "3", "--json", "--out", str(private / name), file=file, given=given)
    assert result.exit_code == 0, result.output
    table = read_table(private / "private.csv")
    types = {"age": "numeric", "job": "categorical"}
    expected = Schema.private(table, 1.0, types=types, drop=("income",), entropy=3)  # type: ignore[arg-type]
    written = read(private / name)
    assert (written, written.charge) == (expected, None)
    assert written.guarantee.epsilon == expected.guarantee.epsilon  # type: ignore[union-attr]
    facts = json.loads(result.output)
    assert Schema.from_dict(facts["schema"]).guarantee == written.guarantee
    assert facts["guarantee"]["is_private"] is False
    assert (facts["records"], facts["account"]) == (RECORDS, None)


def test_the_account_is_charged_and_the_schema_used_with_the_same_file(private: Path) -> None:
    account = Account.create("hospital", epsilon=2.5, delta=1e-5)
    dry = release(private, "--account", "hospital", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "hospital has room for it" in said(dry)
    assert "private cuts of 1 numeric column, 7 each" in said(dry)
    assert "nothing was spent or written" in said(dry)
    assert not account.charges
    done = release(private, "--account", "hospital")
    assert done.exit_code == 0, done.output
    assert "hospital: charged. Remaining: ε = 1.5" in said(done)
    assert f"{account.id}-1" in said(done)
    assert "zebra" not in said(done)
    assert account.charges[0].facts["by"] == "pcqr schema"
    words = ["publish", "--private", "private.csv", "--label", "income", "--labels", "low,high", "--epsilon", "1"]
    words += ["--schema", "schema.toml", "--depth", "1", "--account", "hospital", "--out", "model"]
    words = [str(private / word) if (private / word).exists() or word == "model" else word for word in words]
    tried = CliRunner().invoke(app, [*words, "--dry-run"])
    assert f"cost ε = 1, δ = 1e-06 of its own (charge {account.id}-1)" in said(tried)
    published = CliRunner().invoke(app, words)
    assert published.exit_code == 0, published.output
    assert f"cost ε = 1, δ = 1e-06 of its own (charge {account.id}-1)" in said(published)
    shown = CliRunner().invoke(app, ["account", "show", "hospital"])
    assert account.id in shown.output
    assert "Schema.private" in said(shown)


@pytest.mark.parametrize("file", ["private.csv", "private.parquet"])
def test_persons_are_asked_for_one_row_each(private: Path, file: str) -> None:
    ids = [place // 2 for place in range(RECORDS)]
    table = PRIVATE | {"who": ids}
    write_table(private / file, table)
    given = TYPES if file == "private.csv" else ()
    dry = release(private, "--groups", "who", "--dry-run", "--json", file=file, given=given)
    assert dry.exit_code == 0, dry.output
    described = json.loads(dry.stdout)
    assert (described["records"], described["plan"]["records"], described["plan"]["numeric"]) == (
        RECORDS // 2,
        RECORDS // 2,
        1,
    )
    result = release(private, "--groups", "who", "--seed", "3", file=file, given=given)
    assert result.exit_code == 0, result.output
    types = {"age": "numeric", "job": "categorical"}
    read = read_table(private / file)
    expected = Schema.private(read, 1.0, types=types, drop=("income", "who"), groups=ids, entropy=3)  # type: ignore[arg-type]
    written = Schema.from_toml(private / "schema.toml")
    assert written == expected
    assert written.guarantee is not None
    assert written.guarantee.unit == USER
    bad = ["", *ids[1:]]
    write_table(private / "bad.csv", table | {"who": bad})
    other = ("--out", str(private / "other.toml"))
    refused = release(private, "--groups", "who", *other, file="bad.csv")
    assert refused.exit_code == 2
    assert "person column 'who'" in said(refused)
    (private / "folder").mkdir()
    write_table(private / "folder" / "0.parquet", table)
    in_parts = release(private, "--groups", "who", *other, file="folder", given=())
    assert "put its rows into one .parquet file" in said(in_parts)


def test_a_dry_run_reads_no_cell(private: Path) -> None:
    write_table(private / "private.csv", PRIVATE | {"age": ["ninety", *PRIVATE["age"][1:]]})
    dry = release(private, "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    facts = json.loads(dry.stdout)
    assert (facts["plan"]["numeric"], facts["plan"]["categorical"], facts["records"]) == (1, 1, RECORDS)
    account = Account.create("hospital", epsilon=2.5, delta=1e-5)
    refused = release(private, "--account", "hospital")
    assert refused.exit_code == 2
    assert "column 'age'" in said(refused)
    assert "ninety" not in said(refused)
    assert not account.charges
    assert not (private / "schema.toml").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "0"), "--epsilon must be"),
        (("--epsilon", "40"), "--accept-weak-guarantee"),
        (("--epsilon", "0.1"), "n·ε is below 480"),
        (("--delta", "0"), "--delta must be"),
        (("--delta", "0.01"), "--accept-weak-guarantee"),
        (("--drop", "tall"), "--drop must be"),
        (("--types", "job=words"), "--types must be"),
        (("--types", "wages=number"), "--types must be"),
        (("--groups", "nobody"), "--groups must be the name of a column"),
        (("--groups", "income"), "--groups must be the name of a column"),
        (("--most-categories", "5"), "--most-categories must be left out"),
        (("--out", "schema.yaml"), "--out must be a name that ends in .toml or .json"),
        (("--seed", "1"), "--seed must be left out with --account"),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)], ids=["run", "dry run"])
def test_what_a_private_run_refuses(private: Path, options: tuple[str, ...], words: str, dry: tuple[str, ...]) -> None:
    account = Account.create("hospital", epsilon=99, delta=1e-1)
    result = release(private, *options, "--account", "hospital", *dry)
    assert result.exit_code == 2, result.output
    assert words in said(result)
    assert not account.charges


def test_what_must_be_decided(private: Path) -> None:
    given = ("--private", "--drop", "income", *TYPES)
    assert "--epsilon must be" in said(make(private, *given, file="private.csv"))
    without_out = make(private, *given, "--epsilon", "1", "--no-account", file="private.csv")
    assert "--out must be a file for the schema" in said(without_out)
    out = ("--out", str(private / "s.toml"))
    assert "No account would remember" in said(make(private, *given, *out, "--epsilon", "1", file="private.csv"))
    untyped = release(private, given=())
    assert "--types age=number,job=text" in said(untyped)
    assert untyped.exit_code == 2


@pytest.mark.parametrize(
    "option",
    ["--epsilon=1", "--delta=1e-6", "--types=age=number", "--account=x", "--no-account", "--dry-run", "--seed=1"],
)
def test_public_rows_take_no_option_of_private_ones(public: Path, option: str) -> None:
    result = make(public, option)
    assert result.exit_code == 2
    assert f"{option.partition('=')[0]} must be left out for public rows; private records need --private" in said(
        result
    )


def test_a_schema_that_cannot_be_written_is_printed(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command, "_write", full)
    account = Account.create("hospital", epsilon=2.5, delta=1e-5)
    result = release(private, "--account", "hospital", "--json")
    assert result.exit_code == 1
    described = json.loads(result.output)
    assert Schema.from_dict(described["schema"]).charge == f"{account.id}-1"
    assert "ε = 1 and δ = 1e-06 is spent, charged to the account hospital" in described["error"]["message"]


def test_what_ends_a_private_run_says_what_was_spent(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(command, "read_table", gone)
        result = release(private)
        assert result.exit_code == 4
        assert "Nothing was spent" in said(result)
    with monkeypatch.context() as patch:
        patch.setattr("pcqr.releases.classifier.schema_release.drawn_schema", gone)
        result = release(private)
        assert result.exit_code == 4
        assert "This run has spent ε = 1 and δ = 1e-06, and no account remembers it." in said(result)

    def stopped(*_: object, **__: object) -> None:
        raise Stopped(2)

    monkeypatch.setattr(command, "_show", stopped)
    result = release(private)
    assert result.exit_code == 1
    assert f"it is in {private / 'schema.toml'}" in result.output.replace("\n", "")
    assert Schema.from_toml(private / "schema.toml").guarantee is not None


def test_types_on_the_command_line() -> None:
    found = declared_types(["age=number,job=text", " born=date , member=boolean", "a=b,c=numeric", "x=categorical,"])
    kinds = {"age": "numeric", "job": "categorical", "born": "date", "member": "boolean"}
    assert found == kinds | {"a=b,c": "numeric", "x": "categorical"}
    for wrong in (["age"], ["age=int"], ["age=number,job"], ["=number"], [""], ["age=number", "age=text"]):
        with pytest.raises(ParameterError, match="--types"):
            declared_types(wrong)
