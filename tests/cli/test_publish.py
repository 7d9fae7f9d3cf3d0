"""`pcqr publish` from files to a directory, with seeded entropy: what is written, what is refused before a draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.publishing import PUBLIC, RECORDS, SCHEMA, Files, forbid_draws

from pcqr import Schema
from pcqr.datasets import read_table, write_table
from pcqr.errors import DataError
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.models import PublishedModel


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


def test_files_in_a_model_out(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write(".parquet")
    result = files.publish(suffix=".parquet")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        *("model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"),
        *("importance.txt", "importance.svg"),
    }
    assert files.accuracy(".parquet") > 0.9
    assert PUBLIC_POINTS in files.model().guarantee.assumptions
    assert PUBLIC_POINTS in (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    origin = files.model().provenance
    assert origin.records == RECORDS
    assert origin.public_rows == PUBLIC
    assert origin.predicates
    drawn, counted = origin.hypotheses.split("; then ")
    assert drawn == f"a draw from decision trees of depth 2 over {len(origin.predicates)} predicates"
    assert counted.startswith("noisy counts of each label in each leaf")


def test_a_schema_alone(files: Files) -> None:
    result = files.bare("--schema", files.path("schema.toml"), "--seed", "1")
    assert result.exit_code == 0, result.output
    assert files.accuracy() > 0.85
    assert files.model().provenance.public_rows == 0
    assert "the schema alone" in result.stdout
    assert PUBLIC_POINTS not in files.model().guarantee.assumptions


def test_public_rows_with_a_schema(files: Files) -> None:
    assert files.publish("--schema", files.path("schema.toml")).exit_code == 0
    assert files.accuracy() > 0.9
    assert files.model().schema.columns[1].other is False
    assert files.model().provenance.public_rows == PUBLIC


def test_the_summary_speaks_of_guarantee_class_rules_and_files(files: Files) -> None:
    said = " ".join(files.publish().output.split())
    for part in ("NOT PRIVATE", "1,500 private records", "depth 2", "100 public rows", "if ", "predict 1", "card.md"):
        assert part in said


def test_json_holds_the_same_for_machines_and_without_a_seed_the_model_is_private(files: Files) -> None:
    summary = json.loads(files.bare("--public", files.path("public.csv"), "--depth", "2", "--json").stdout)
    assert summary["guarantee"]["is_private"] is True
    assert "NOT PRIVATE" not in (files.directory / "model" / "card.md").read_text(encoding="utf-8")
    assert summary["guarantee"]["epsilon"] <= 2
    assert summary["guarantee"]["delta"] == 0
    assert summary["records"] == RECORDS
    assert summary["public_rows"] == PUBLIC
    assert summary["depth"] == 2
    assert summary["classes"] == [0, 1]
    assert summary["rules"] == files.model().rules()
    assert "model.json" in summary["files"]


def test_declared_labels_are_not_read_off_the_records(files: Files) -> None:
    files.write(labels=("<=50K", ">50K"))
    assert files.publish("--labels", "<=50K,>50K,unknown").exit_code == 0
    assert files.model().classes == ("<=50K", ">50K", "unknown")
    assert not any("label" in assumption for assumption in files.model().guarantee.assumptions)


def test_0_and_1_are_the_label_names_that_need_no_declaration(files: Files) -> None:
    """Nor does it matter which of them occur: that is no fact to be published."""
    files.write(labels=(1, 1))
    assert files.publish().exit_code == 0
    assert files.model().classes == (0, 1)
    assert not any("label" in assumption for assumption in files.model().guarantee.assumptions)


def test_an_undeclared_category_among_the_records_does_not_stop_a_schema_of_public_rows(files: Files) -> None:
    """A refusal would tell that a private record has a category that no public row has."""
    write_table(files.directory / "public.csv", {"x": [0.1 * i - 2 for i in range(40)], "colour": ["red"] * 40})
    assert files.publish().exit_code == 0


def test_a_column_of_one_file_or_of_the_schema_alone_can_be_dropped(files: Files) -> None:
    table = read_table(files.path("public.csv"))
    write_table(files.directory / "public.csv", table | {"id": list(range(PUBLIC))})
    (files.directory / "schema.toml").write_text(SCHEMA + '[[columns]]\nname = "height"\n')
    result = files.publish("--schema", files.path("schema.toml"), "--drop", "id", "--drop", "height")
    assert result.exit_code == 0, result.output


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_draws(monkeypatch)


@pytest.mark.parametrize("labels", [(17, 44), ("", 1)])
@pytest.mark.usefixtures("no_draw")
def test_labels_are_declared_or_are_0_and_1(files: Files, labels: tuple[Any, Any]) -> None:
    """Names read off the private rows, such as ages, would be published and paid for by nobody."""
    files.write(labels=labels)
    result = files.publish()
    assert result.exit_code == 2
    assert "label column 'y' must be 0 or 1 in every row; declare other names" in result.stderr
    assert "44" not in result.stderr
    assert not (files.directory / "model").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "0"), "epsilon must be"),
        (("--depth", "0"), "depth must be an integer ≥ 1"),
        (("--depth", "9"), "depth must be at most 6"),
        (("--operations", "10"), "to allow more, raise operations"),
        (("--label", "height"), "--label must be the name of one of the 3 columns in the first line"),
        (("--labels", "yes"), "--labels must be 2 to 127 different names"),
        (("--labels", "no,yes"), "must be one of no, yes in every row"),
        (("--label", "x"), "label column 'x' must be 0 or 1 in every row"),
        (("--public", "absent.csv"), "--public must be a file that exists"),
        (("--schema", "absent.toml"), "a file that can be read"),
        (("--drop", "colur"), "--drop must be the name of a column"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(files: Files, options: tuple[str, ...], message: str) -> None:
    result = files.publish(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("Error: ") == 1
    assert message in result.stderr.strip().splitlines()[-1]
    assert not (files.directory / "model").exists()


def test_a_table_without_a_declared_column_is_named(files: Files) -> None:
    (files.directory / "schema.toml").write_text(SCHEMA + '[[columns]]\nname = "height"\n')
    result = files.publish("--schema", files.path("schema.toml"))
    assert result.exit_code == 2
    assert "public.csv must be a table with the columns" in result.stderr
    assert "without 'height'" in result.stderr
    result = files.bare("--schema", files.path("schema.toml"))
    assert result.exit_code == 2
    assert "train.csv must be a table with the columns" in result.stderr
    assert "without 'height'" in result.stderr


def test_neither_public_rows_nor_a_schema(files: Files) -> None:
    result = files.bare("--seed", "1")
    assert result.exit_code == 2
    assert "columns without a type" in result.stderr, "a CSV file has no types"


def test_a_public_file_of_one_row_or_constant_columns(files: Files) -> None:
    write_table(files.directory / "public.csv", {"x": [1.0], "colour": ["red"]})
    result = files.publish()
    assert result.exit_code == 2
    assert "rows that differ" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_the_private_file_is_not_public(files: Files) -> None:
    link = files.directory / "link.csv"
    link.symlink_to(files.path("train.csv"))
    for path in (files.path("train.csv"), str(link)):
        result = files.publish("--public", path)
        assert result.exit_code == 2
        assert "--public must be rows that are public, not the private records" in result.stderr


@pytest.mark.parametrize("rows", [slice(None), slice(700), slice(None, None, -3)])
@pytest.mark.usefixtures("no_draw")
def test_private_rows_are_not_public_whichever_and_in_whatever_order(files: Files, rows: slice) -> None:
    table = read_table(files.path("train.csv"))
    write_table(files.directory / "public.csv", {name: table[name][rows] for name in ("colour", "x")})
    result = files.publish()
    assert result.exit_code == 2
    assert "more than half of whose rows are rows of the private file" in result.stderr


def test_a_schema_made_of_the_private_file_is_refused(files: Files) -> None:
    """Also where a column was left out when it was made, and another is when it is used."""
    table = read_table(files.path("train.csv"))
    label = next(name for name in table if name not in ("colour", "x"))
    for drop in ((label,), (label, "colour")):
        Schema.from_public(table, drop=drop).to_toml(files.directory / "schema.toml")
        options = ("--schema", files.path("schema.toml"), *(("--drop", "colour") if "colour" in drop else ()))
        result = files.bare(*options, "--seed", "1")
        assert result.exit_code == 2
        assert "schema.toml, which was made of the very rows of the private file" in result.stderr
    assert files.bare(*options, "--assume-public", "--seed", "1").exit_code == 0


def test_a_few_private_rows_are_a_warning_for_the_data_holder_alone(files: Files) -> None:
    private, public = read_table(files.path("train.csv")), read_table(files.path("public.csv"))
    mixed = {name: [*public[name], *private[name][:20]] for name in ("colour", "x")}
    write_table(files.directory / "public.csv", mixed)
    result = files.publish("--json")
    assert result.exit_code == 0
    assert "Warning: Many of the rows of" in result.stderr
    assert "keep it to yourself" in result.stderr
    assert "private file" not in result.stdout
    assert not any("private file" in path.read_text(errors="ignore") for path in (files.directory / "model").iterdir())


def test_rows_of_which_few_are_possible_are_public_if_the_data_holder_says_so(files: Files) -> None:
    for name in ("train.csv", "public.csv"):
        table = read_table(files.path(name))
        table["x"] = [None if x is None else round(float(x)) for x in table["x"]]
        write_table(files.directory / name, table)
    assert files.publish().exit_code == 2
    result = files.publish("--assume-public")
    assert result.exit_code == 0, result.output
    assert "of the rows" not in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_a_damaged_file_is_one_line(files: Files) -> None:
    files.write(".csv.gz")
    path = files.directory / "train.csv.gz"
    content = path.read_bytes()
    path.write_bytes(content[:40] + b"\xff" * 16 + content[56:])
    result = files.publish(suffix=".csv.gz")
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "cannot be parsed" in result.stderr


def test_labels_of_lists_are_one_line(files: Files) -> None:
    table = dict(read_table(files.path("train.csv")))
    write_table(files.directory / "train.parquet", table | {"y": [[1], None] * (RECORDS // 2)})
    result = files.publish("--private", files.path("train.parquet"))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_bad_input_has_one_json_shape(files: Files) -> None:
    result = files.publish("--json", "--depth", "0")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert {"type", "message", "name", "allowed", "received"} == set(error)


@pytest.mark.parametrize("is_file", [True, False])
def test_a_place_that_cannot_be_written_to(files: Files, is_file: bool) -> None:
    target = files.directory / ("train.csv" if is_file else "train.csv/model")
    result = files.publish("--out", str(target))
    assert result.exit_code == 2
    assert "--out must be a directory that can be written to" in result.stderr


@pytest.mark.parametrize("name", ["model.json", "importance.txt"])
@pytest.mark.usefixtures("no_draw")
def test_a_directory_in_the_place_of_a_file(files: Files, name: str) -> None:
    (files.directory / "model" / name).mkdir(parents=True)
    result = files.publish()
    assert result.exit_code == 2
    assert "--out must be a directory whose files can be written over" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_a_file_that_may_not_be_written_over(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    (files.directory / "model").mkdir()
    (files.directory / "model" / "card.md").write_text("old")
    monkeypatch.setattr("os.access", lambda path, _: Path(path).name != "card.md")
    result = files.publish()
    assert result.exit_code == 2
    assert "card.md" in result.stderr


@pytest.mark.usefixtures("no_draw")
def test_what_cannot_be_written_fails_before_the_draw(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: PublishedModel) -> str:
        raise DataError("card", "writable", "not")

    monkeypatch.setattr(PublishedModel, "card", broken)
    assert files.publish().exit_code == 2


def test_a_picture_that_fails_is_named_by_the_exit_code_too(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr(PublishedModel, "draw", broken)
    result = files.publish()
    assert result.exit_code == 1, result.output
    assert "picture.svg: RuntimeError: no fonts" in result.stdout
    assert "could not be written to" in result.stderr
    assert "picture.svg. The model itself is in" in result.stderr
    again = files.publish("--json", "--overwrite")
    assert again.exit_code == 1
    assert json.loads(again.stdout)["failed"] == {"picture.svg": "RuntimeError: no fonts"}
    assert json.loads(again.stdout)["left_out"] == {}
    assert files.model().classes == (0, 1)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failure_after_the_draw_says_that_the_budget_is_spent_and_shows_the_model(
    files: Files, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PublishedModel, "save", full)
    result = files.publish(*(["--json"] if as_json else []))
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    message = printed["error"]["message"] if as_json else result.stderr
    assert "The model was drawn and ε = 2 is spent" in message
    assert "No space left on device" in message
    document = printed["model"] if as_json else printed
    assert PublishedModel.from_json(json.dumps(document)).provenance.records == RECORDS


def test_a_summary_that_cannot_be_printed_says_where_the_model_is(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_letters(*_: Any) -> None:
        raise UnicodeEncodeError("ascii", "ε", 0, 1, "ordinal not in range(128)")

    monkeypatch.setattr("pcqr.cli.publish.promise", no_letters)
    result = files.publish()
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "The model was drawn and ε = 2 is spent without an account; it is in " in result.stderr
    assert result.stderr.endswith("model.json. Then: UnicodeEncodeError.\n")
    assert files.model().provenance.records == RECORDS
