"""`pcqr publish` from files to a directory, with seeded entropy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.publishing import PUBLIC, RECORDS, SCHEMA, Files

from pcqr.datasets import read_table, write_table
from pcqr.mechanisms.exponential import PUBLIC_POINTS


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
