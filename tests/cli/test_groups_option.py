"""`--groups COLUMN`: whose each row is, for `answer`, `fit` and `publish`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_lines import call, said

import pcqr.release
from pcqr.models import PublishedModel
from pcqr.privacy.unit import USER

PERSONS = 900


def write(path: Path, header: list[str], rows: Any) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,117 rows of 900 persons, whose ids are numbers that would make a good feature."""
    place = tmp_path_factory.mktemp("persons")
    generator = np.random.default_rng(0)
    patients = np.concatenate([np.arange(PERSONS), generator.integers(0, PERSONS, 1_217)])
    x = generator.uniform(0, 10, patients.size).round(3)
    write(place / "private.csv", ["patient", "x", "y"], zip(patients, x, (x > 6).astype(int), strict=True))
    write(place / "queries.csv", ["x"], [[value] for value in (0.5, 1.5, 8.5, 9.5)])
    write(place / "public.csv", ["patient", "x"], [[number, number / 20] for number in range(200)])
    gap = (place / "private.csv").read_text().replace("\n5,", "\n,", 1)
    (place / "gap.csv").write_text(gap)
    return place


def common(folder: Path, private: str = "private.csv") -> list[Any]:
    return ["--private", folder / private, "--label", "y", "--groups", "patient", "--epsilon", 4, "--seed", 0]


def check_facts(facts: dict[str, Any]) -> None:
    assert facts["records"] == PERSONS
    assert facts["guarantee"]["adjacency"] == USER.adjacency
    assert "all rows of any one of the 900 persons" in facts["promise"]
    assert "2117" not in json.dumps(facts)
    assert "2,117" not in json.dumps(facts)


@pytest.mark.parametrize("method", ["tree", "linear"])
def test_publish(folder: Path, tmp_path: Path, method: str) -> None:
    public = ["--public", folder / "public.csv", "--assume-public"]
    options = ["publish", *common(folder), "--delta", "1e-5", "--method", method, *public]
    dry = call(*options, "--out", tmp_path / "none", "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    check_facts(json.loads(dry.output))
    for rows in (1, 2):
        out = tmp_path / f"model{rows}"
        done = call(*options, "--out", out, "--json", "--group-rows", rows)
        assert done.exit_code == 0, done.output
        check_facts(json.loads(done.output))
        model = PublishedModel.from_json((out / "model.json").read_text())
        assert model.guarantee.unit == USER
        assert model.schema.names == ("x",)
        assert all("2117" not in path.read_text() for path in (out / "model.json", out / "rules.txt"))


def test_answer(folder: Path, tmp_path: Path) -> None:
    options = [
        "answer",
        *common(folder),
        "--delta",
        "1e-5",
        "--queries",
        folder / "queries.csv",
        "--class",
        "thresholds",
    ]
    for algorithm in ("subsamp", "agnostic"):
        preview = call(*options, "--algorithm", algorithm, "--dry-run", "--json")
        assert preview.exit_code == 0, preview.output
        check_facts(json.loads(preview.output))
        done = call(*options, "--algorithm", algorithm, "--out", tmp_path / f"{algorithm}.csv", "--json")
        assert done.exit_code in (0, 3), done.output
        check_facts(json.loads(done.output))


def test_fit(folder: Path, tmp_path: Path) -> None:
    options = ["fit", *common(folder), "--delta", "1e-5", "--class", "thresholds", "--algorithm", "subsamp"]
    dry = call(*options, "--out", tmp_path / "none", "--anchor", tmp_path / "anchor0", "--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    check_facts(json.loads(dry.output))
    done = call(*options, "--out", tmp_path / "release", "--anchor", tmp_path / "anchor", "--json")
    assert done.exit_code == 0, done.output
    check_facts(json.loads(done.output))
    release = pcqr.release.open(tmp_path / "release", anchor=tmp_path / "anchor")
    assert release.guarantee_.unit == USER
    release.close()


def test_what_cannot_name_persons_is_refused(folder: Path, tmp_path: Path) -> None:
    options = ["publish", *common(folder, "gap.csv"), "--public", folder / "public.csv", "--out", tmp_path / "model"]
    for more in ((), ("--dry-run",)):
        missing = call(*options, *more)
        assert missing.exit_code == 2
        assert "the id of a person in every row; received a missing one" in said(missing)
    whole = ["publish", *common(folder), "--public", folder / "public.csv", "--out", tmp_path / "model"]
    for user in ("nobody", "y"):
        refused = call(*whole, "--groups", user)
        assert refused.exit_code == 2
        assert "--groups" in refused.output
    dropped = call(*whole, "--drop", "patient")
    assert dropped.exit_code == 2
    assert not (tmp_path / "model").exists()
