"""`pcqr publish` from files to a directory, with seeded entropy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from pcqr.cli.main import app
from pcqr.datasets import read_table, write_table
from pcqr.errors import DataError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.models import PublishedModel

RECORDS, PUBLIC = 1500, 100
SCHEMA = """
[[columns]]
name = "x"
bounds = [-2, 2]
missing = true

[[columns]]
name = "colour"
kind = "categorical"
categories = ["red", "blue"]
"""


@dataclass(frozen=True)
class Files:
    """A private table on which "red and x > 0" is the label, with gaps in x; public rows in another column order."""

    directory: Path

    def write(self, suffix: str = ".csv", *, labels: tuple[Any, ...] = (0, 1)) -> None:
        generator = np.random.default_rng(0)
        count = RECORDS + PUBLIC
        x = generator.normal(size=count)
        colour = np.where(generator.random(count) < 0.7, "red", "blue")
        y = (x > 0) & (colour == "red")
        gaps = [None if generator.random() < 0.02 else float(value) for value in x]
        private = {"x": gaps[PUBLIC:], "colour": list(colour[PUBLIC:])}
        self._write("train" + suffix, private | {"y": [labels[int(label)] for label in y[PUBLIC:]]})
        self._write("public" + suffix, {"colour": list(colour[:PUBLIC]), "x": gaps[:PUBLIC]})
        (self.directory / "schema.toml").write_text(SCHEMA)

    def _write(self, name: str, columns: dict[str, list[Any]]) -> None:
        write_table(self.directory / name, columns)

    def path(self, name: str) -> str:
        return str(self.directory / name)

    def publish(self, *options: str, suffix: str = ".csv") -> Result:
        """Seeded, with public rows. An option given again in `options` wins."""
        return self.bare("--public", self.path(f"public{suffix}"), "--seed", "1", *options, suffix=suffix)

    def bare(self, *options: str, suffix: str = ".csv") -> Result:
        needed = {
            "--private": self.path(f"train{suffix}"),
            "--label": "y",
            "--epsilon": "2",
            "--depth": "2",
            "--out": self.path("model"),
        }
        return CliRunner().invoke(app, ["publish", *(part for pair in needed.items() for part in pair), *options])

    def model(self) -> PublishedModel:
        return PublishedModel.load(self.directory / "model")

    def accuracy(self, suffix: str = ".csv") -> float:
        table = read_table(self.path(f"train{suffix}"))
        labels = [str(label) for label in table.pop("y")]
        return float(
            np.mean([str(label) == truth for label, truth in zip(self.model().predict(table), labels, strict=True)])
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is an error: whatever is refused must be refused before."""

    def drawn(*_: Any, **__: Any) -> None:
        raise AssertionError("a draw")

    monkeypatch.setattr(HypothesisClass, "draw", drawn)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_in_a_model_out(tmp_path: Path, suffix: str) -> None:
    files = Files(tmp_path)
    files.write(suffix)
    result = files.publish(suffix=suffix)
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        *("model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"),
        *("importance.txt", "importance.svg"),
    }
    assert files.accuracy(suffix) > 0.9
    origin = files.model().provenance
    assert origin.records == RECORDS
    assert origin.public_rows == PUBLIC
    assert origin.predicates
    assert origin.hypotheses == f"decision trees of depth 2 over {len(origin.predicates)} public predicates"


def test_a_schema_alone(files: Files) -> None:
    result = files.bare("--schema", files.path("schema.toml"), "--seed", "1")
    assert result.exit_code == 0, result.output
    assert files.accuracy() > 0.85
    assert files.model().provenance.public_rows == 0
    assert "the schema alone" in result.stdout


def test_public_rows_with_a_schema(files: Files) -> None:
    assert files.publish("--schema", files.path("schema.toml")).exit_code == 0
    assert files.accuracy() > 0.9
    assert files.model().schema.columns[1].other is False
    assert files.model().provenance.public_rows == PUBLIC


def test_the_summary_speaks_of_guarantee_class_rules_and_files(files: Files) -> None:
    said = " ".join(files.publish().output.split())
    for part in ("NOT PRIVATE", "1,500 private records", "depth 2", "100 public rows", "if ", "predict 1", "card.md"):
        assert part in said


def test_json_holds_the_same_for_machines(files: Files) -> None:
    summary = json.loads(files.publish("--json").stdout)
    assert summary["guarantee"]["is_private"] is False
    assert summary["guarantee"]["epsilon"] <= 2
    assert summary["guarantee"]["delta"] == 0
    assert summary["records"] == RECORDS
    assert summary["public_rows"] == PUBLIC
    assert summary["depth"] == 2
    assert summary["classes"] == [0, 1]
    assert summary["rules"] == files.model().rules()
    assert "model.json" in summary["files"]


def test_without_a_seed_the_model_is_private(files: Files) -> None:
    result = files.bare("--public", files.path("public.csv"), "--json")
    assert result.exit_code == 0, result.output
    assert files.model().guarantee.is_private
    assert "NOT PRIVATE" not in (files.directory / "model" / "card.md").read_text(encoding="utf-8")


def test_declared_labels_are_not_read_off_the_records(files: Files) -> None:
    files.write(labels=("<=50K", ">50K"))
    assert files.publish("--labels", "<=50K,>50K,unknown").exit_code == 0
    assert files.model().classes == ("<=50K", ">50K", "unknown")
    assert not any("label" in assumption for assumption in files.model().guarantee.assumptions)


@pytest.mark.parametrize("labels", [("no", "yes"), (17, 44), (0, 2), ("", 1)])
@pytest.mark.usefixtures("no_draw")
def test_labels_are_declared_or_are_0_and_1(files: Files, labels: tuple[Any, Any]) -> None:
    """Names read off the private rows, such as ages, would be published and paid for by nobody."""
    files.write(labels=labels)
    result = files.publish()
    assert result.exit_code == 2
    assert "label column 'y' must be 0 or 1 in every row; declare other names" in result.stderr
    assert "44" not in result.stderr
    assert not (files.directory / "model").exists()


def test_0_and_1_are_the_label_names_that_need_no_declaration(files: Files) -> None:
    """Nor does it matter which of them occur: that is no fact to be published."""
    files.write(labels=(1, 1))
    assert files.publish().exit_code == 0
    assert files.model().classes == (0, 1)
    assert not any("label" in assumption for assumption in files.model().guarantee.assumptions)


def test_public_rows_are_among_what_is_treated_as_public(files: Files) -> None:
    assert files.publish().exit_code == 0
    assert PUBLIC_POINTS in files.model().guarantee.assumptions
    assert PUBLIC_POINTS in (files.directory / "model" / "card.md").read_text(encoding="utf-8")


def test_without_public_rows_none_are_assumed(files: Files) -> None:
    assert files.bare("--schema", files.path("schema.toml"), "--seed", "1").exit_code == 0
    assert PUBLIC_POINTS not in files.model().guarantee.assumptions


def test_columns_can_be_dropped(files: Files) -> None:
    assert files.publish("--drop", "colour").exit_code == 0
    assert files.model().schema.names == ("x",)


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
    assert "--public must be public rows, or --schema" in result.stderr


def test_a_public_file_of_one_row_or_constant_columns(files: Files) -> None:
    write_table(files.directory / "public.csv", {"x": [1.0], "colour": ["red"]})
    result = files.publish()
    assert result.exit_code == 2
    assert "rows that differ" in result.stderr


def test_an_undeclared_category_among_the_records_does_not_stop_a_schema_of_public_rows(files: Files) -> None:
    """A refusal would tell that a private record has a category that no public row has."""
    write_table(files.directory / "public.csv", {"x": [0.1 * i - 2 for i in range(40)], "colour": ["red"] * 40})
    assert files.publish().exit_code == 0


@pytest.mark.parametrize("is_file", [True, False])
def test_a_place_that_cannot_be_written_to(files: Files, is_file: bool) -> None:
    target = files.directory / ("train.csv" if is_file else "train.csv/model")
    result = files.publish("--out", str(target))
    assert result.exit_code == 2
    assert "--out must be a directory that can be written to" in result.stderr


@pytest.mark.parametrize("name", ["model.json", "rules.txt", "card.md", "picture.svg", "model.onnx", "importance.txt"])
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


def test_a_picture_that_fails_is_left_out(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no fonts")

    monkeypatch.setattr(PublishedModel, "draw", broken)
    result = files.publish()
    assert result.exit_code == 0, result.output
    assert "picture.svg: RuntimeError: no fonts" in result.stdout
    assert json.loads(files.publish("--json", "--overwrite").stdout)["left_out"] == {
        "picture.svg": "RuntimeError: no fonts"
    }
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
    assert "The model was drawn and ε = 2 is spent; it is in " in result.stderr
    assert result.stderr.endswith("model.json. Then: UnicodeEncodeError.\n")
    assert files.model().provenance.records == RECORDS


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
    result = files.publish("--surely-public")
    assert result.exit_code == 0, result.output
    assert "of the rows" not in result.stderr


def test_a_column_of_one_file_or_of_the_schema_alone_can_be_dropped(files: Files) -> None:
    table = read_table(files.path("public.csv"))
    write_table(files.directory / "public.csv", table | {"id": list(range(PUBLIC))})
    (files.directory / "schema.toml").write_text(SCHEMA + '[[columns]]\nname = "height"\n')
    result = files.publish("--schema", files.path("schema.toml"), "--drop", "id", "--drop", "height")
    assert result.exit_code == 0, result.output


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
