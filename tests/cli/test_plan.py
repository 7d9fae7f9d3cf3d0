"""`pcqr plan`: what it prints, its JSON, its refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pcqr.advice.outlook import look
from pcqr.cli.main import app
from pcqr.cli.plan import SCHEMA, _percent, _up

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
LINE = ("--class", "thresholds", "--epsilon", "1", "--alpha", "0.1", "--queries", "1000")


def invoke(*options: str) -> Result:
    return CliRunner().invoke(app, ["plan", *options], env={"COLUMNS": "120"})


def as_json(*options: str) -> dict[str, Any]:
    result = invoke(*options, "--json")
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.output)
    return value


def keys(value: object) -> set[str]:
    """All keys of an object, nested ones as well; those of `nearest_changes` and the like are parameters' names."""
    if isinstance(value, dict):
        return set(value).union(*(keys(part) for part in value.values()))
    return set().union(*(keys(part) for part in value)) if isinstance(value, list) else set()


@pytest.fixture(scope="module", autouse=True)
def each_question_is_planned_once() -> Iterator[None]:
    """A plan is a function of the question; these tests are about what is said of it, and ask the same ones again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pcqr.cli.plan.look", cache(look))
        yield


@pytest.fixture(scope="module")
def line() -> dict[str, Any]:
    return as_json(*LINE, "--explain")


def test_the_figures_that_the_planner_must_show(line: dict[str, Any]) -> None:
    assert line["schema"] == SCHEMA == "pcqr.plan/1"
    assert line["paper"]["n"] == pytest.approx(5.6e11, rel=0.01)
    assert line["paper"]["k"] == 2_652_567
    assert line["calibrated"]["n"] <= 1_300_000
    assert line["calibrated"]["k"] % 2 == 1
    assert line["calibrated"]["T"] >= 1
    assert line["solved_for"] == ["records"]
    assert line["solution"] == {"records": line["calibrated"]["n"]}
    assert line["proved"] is True
    assert line["calibrated"]["excess"] <= 0.1
    assert sum(line["calibrated"]["terms"].values()) == pytest.approx(line["calibrated"]["excess"])


def test_the_algorithms_keep_proofs_and_expectations_apart(line: dict[str, Any]) -> None:
    for option in line["algorithms"]:
        assert set(option["certified"]) == {"excess_error"}
        assert option["expected"] is None or set(option["expected"]) == {
            "excess_error",
            "unstable_share",
            "unanswered_share",
            "unstable_range",
            "unanswered_range",
        }
    assert line["recommendation"]["algorithm"] == "AgPrivCl"
    assert line["recommendation"]["estimator"] == "AgnosticRelease"


def test_every_key_is_documented(line: dict[str, Any]) -> None:
    classes = as_json("--epsilon", "3", "--alpha", "0.3", "--queries", "100")
    assert set(classes["classes"]) == {"thresholds", "intervals", "stumps"}
    assert classes["advice"] is None  # n was not given
    table = as_json("--class", "thresholds", "--epsilon", "3", "--alpha", "0.3")
    assert table["frontier_over"] == "queries"
    assert [point["at"] for point in table["frontier"]] == [100, 1_000, 10_000]
    short = as_json("--class", "thresholds", "--n", "1000", "--epsilon", "3", "--alpha", "0.3", "--queries", "100")
    found = keys(line) | keys(classes) - set(classes["classes"]) | keys(table) | keys(short)
    missing = {key for key in found if f"`{key}`" not in DOCUMENTED}
    assert not missing


def test_a_number_of_records_is_solved_for() -> None:
    result = invoke(*LINE)
    assert result.exit_code == 0
    assert re.search(r"^n = 1,2\d\d,\d\d\d records are enough, with proof\.", result.output)
    assert "5.57e+11" in result.output
    assert "Recommended. AgPrivCl" in result.output
    assert "≤ 0.1 " in result.output  # .0999… is never shown as less than it is


def test_where_no_number_of_records_was_found_none_is_shown() -> None:
    found = as_json("--class", "thresholds", "--epsilon", "1e-11", "--alpha", "0.1", "--queries", "500")
    assert found["solution"] is None
    assert found["records"] is None
    assert (found["proved"], found["algorithms"]) == (False, [])


def test_too_few_records_are_said_plainly() -> None:
    text = invoke(*LINE, "--n", "50000").output
    assert text.startswith("Accuracy is not proved at n = 50,000; privacy is. Votes would need n = 1,2")
    assert "For a proof of the votes, any one of: n = 1,2" in text


def test_public_points_make_it_feasible_by_publication() -> None:
    text = invoke(*LINE, "--n", "50000", "--public", "1000").output
    assert text.startswith("Feasible with SSPP (SemiPrivateLearner): n = 50,000 records are enough, with proof.")


def test_two_unknowns_show_a_table() -> None:
    text = invoke("--class", "thresholds", "--epsilon", "3", "--alpha", "0.3").output
    assert "What is proved" in text
    assert re.search(r"[\d,]+ +3 +10,000 +0\.3", text)


def test_nothing_proved_is_said() -> None:
    text = invoke("--class", "thresholds", "--epsilon", "1e-11", "--alpha", "0.1", "--queries", "1000").output
    assert text.startswith("No number n of records up to 1e+13 is known to be enough.")
    assert "For a proof with n ≤ 1e+13 records: ε = " in text


def test_explanations_have_formulas_and_proofs(line: dict[str, Any]) -> None:
    for part in ("paper", "calibrated"):
        for entry in line["explanation"][part]:
            assert set(entry) == {"symbol", "value", "formula", "proof"}
    text = invoke(*LINE, "--explain").output
    assert "The paper's numbers" in text
    assert "2·ln(1 + e^η), the price of relabelling" in text
    assert "note certificate, E4" in text


def test_no_class_shows_several() -> None:
    text = invoke("--epsilon", "3", "--alpha", "0.3", "--queries", "100").output
    assert "What is proved, for some classes" in text
    for name in ("thresholds", "intervals", "stumps"):
        assert name in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*LINE, "--vc", "3"), "vc must be left out where --class is given"),
        (("--class", "thresholds", "--epsilon", "1"), "--n, --alpha and --queries are missing"),
        ((*LINE[:-4], "--alpha", "0.5", "--queries", "10"), "alpha must be in (0, ½)"),
        ((*LINE, "--solve", "alpha"), "alpha must be left out"),
        ((*LINE, "--delta", "0"), "delta must be a number in"),
        ((*LINE, "--features", "3"), "features must be 1 for thresholds"),
        ((*LINE[2:], "--explain"), "--class or --vc must be given for --explain and --plot"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(options: tuple[str, ...], said: str) -> None:
    result = invoke(*options)
    assert result.exit_code == 2
    assert said in result.output
    error = json.loads(invoke(*options, "--json").output)["error"]
    assert said in error["message"]


def test_unknown_classes_and_unknowns_are_refused() -> None:
    assert invoke("--class", "circles").exit_code == 2
    assert invoke(*LINE, "--solve", "gamma").exit_code == 2
    assert invoke(*LINE, "--n", "0").exit_code == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.09993, "0.1"), (0.1, "0.1"), (0.0001007342, "0.000101"), (1.0, "1"), (2.501e-31, "2.51e-31")],
)
def test_bounds_are_rounded_upwards(value: float, shown: str) -> None:
    assert _up(value) == shown
    assert float(shown) >= value


@pytest.mark.parametrize(("share", "shown"), [(0.0, "0 %"), (1e-9, "< 0.001 %"), (0.0123, "1.2 %"), (0.9999, "100 %")])
def test_shares_are_shown_as_percentages(share: float, shown: str) -> None:
    assert _percent(share) == shown


def test_a_picture_replaces_no_file_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "plan.svg"
    picture.write_text("precious")
    monkeypatch.setattr("pcqr.plotting.pictures.draw_plan", lambda path, *_: path.write_text("drawn"))
    refused = invoke(*LINE, "--plot", str(picture))
    assert refused.exit_code == 2
    assert f"{picture} exists. Take another --plot, or add --overwrite to replace it." in refused.stderr
    assert picture.read_text() == "precious"
    assert invoke(*LINE, "--plot", str(picture), "--overwrite").exit_code == 0
    assert picture.read_text() == "drawn"
    assert (
        "--plot must be a file in an existing directory"
        in invoke(*LINE, "--plot", str(tmp_path / "a" / "b.svg")).stderr
    )
