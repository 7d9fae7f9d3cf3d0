"""A schema that is released by itself: what is charged, what is refused before it, and who is told of it later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr import Groups, Guarantee, PrivateClassifier, Schema, SemiPrivateLearner
from pcqr.data.records import ParquetTable
from pcqr.datasets import write_table
from pcqr.errors import AccountExhausted, DataError, InfeasiblePlan, ParameterError, PcqrError, WeakGuarantee
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.privacy.unit import USER
from pcqr.release import Account
from pcqr.releases.classifier import schema_release as module
from pcqr.releases.classifier.predicates import plan_private_schema

N = 3_000
GENERATOR = np.random.default_rng(0)
AGES = GENERATOR.integers(18, 90, N)
TABLE: dict[str, Any] = {
    "age": AGES,
    "job": GENERATOR.choice(["cook", "nurse"], N),
    "member": GENERATOR.integers(0, 2, N).astype(bool),
}
LABELS = (AGES > 50).astype(int)


def released(table: Any = TABLE, epsilon: float = 1.0, **more: Any) -> Schema:
    return Schema.private(table, epsilon, **{"entropy": 0} | more)


@pytest.fixture
def account(home: Path) -> Account:  # noqa: ARG001 - accounts with names are there
    return Account.create("hospital", epsilon=2.5, delta=1e-5)


@pytest.fixture
def no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*_: object) -> Schema:
        raise AssertionError("Noise was drawn.")

    monkeypatch.setattr(module, "drawn_schema", drawn)


def test_it_keeps_what_it_promises_and_says_what_was_bought() -> None:
    schema = Schema.private(TABLE, 1.0, 1e-7)
    stage, guarantee = plan_private_schema(N, 1, 1, 1.0, 1e-7)
    stated = schema.guarantee
    assert stated is not None
    assert (stated.epsilon, stated.delta, stated.proof) == (guarantee.epsilon, guarantee.delta, "predicates")
    assert stated.steps == (
        "private cuts of 1 numeric column, 7 each, and private categories of 1 text column",
        *guarantee.steps,
    )
    assert stated.assumptions == ("which types the columns have is public",)
    assert (stated.is_private, stated.is_charged, schema.charge, schema.origin) == (True, False, None, None)
    assert stage.levels == 3
    assert schema.is_private
    assert schema.cost == (
        "the schema (cuts, shares, categories), which cost ε = 1, δ = 1e-07 of its own (charged to no account), "
        "for single records",
        "which types the columns have is public",
    )


def test_an_account_is_charged_before_anything_is_drawn(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, seen = module.__dict__["drawn_schema"], []

    def drawn(*given: Any) -> Any:
        seen.append(len(account.charges))
        return shipped(*given)

    monkeypatch.setattr(module, "drawn_schema", drawn)
    first, second = (Schema.private(TABLE, 1.0, account="hospital") for _ in range(2))
    assert seen == [1, 2]
    assert (first.charge, second.charge) == (f"{account.id}-1", f"{account.id}-2")
    assert first.guarantee is not None
    assert first.guarantee.is_charged
    assert f"(charge {account.id}-1)" in first.cost[0]
    charge = account.charges[0]
    assert (charge.what, charge.epsilon, charge.facts) == ("Schema.private", first.guarantee.epsilon, {"records": N})


@pytest.mark.usefixtures("no_draw")
def test_what_does_not_fit_is_refused_before_anything_is_drawn(account: Account) -> None:
    with pytest.raises(AccountExhausted):
        Schema.private(TABLE, 2.6, account=account)
    assert not account.charges


@pytest.mark.usefixtures("no_draw")
@pytest.mark.parametrize(
    ("given", "more", "error", "words"),
    [
        (TABLE, {"epsilon": 0.0}, ParameterError, "epsilon"),
        (TABLE, {"delta": 0.0}, ParameterError, "delta"),
        (TABLE, {"epsilon": 0.1}, InfeasiblePlan, "n·ε is below 480"),
        (TABLE, {"groups": np.arange(N)[1:]}, DataError, "as long as X"),
        (TABLE, {"groups": [None, *range(1, N)]}, DataError, "a missing one"),
        (TABLE, {"groups": Groups(np.arange(N), rows=2)}, ParameterError, "groups.rows"),
        (TABLE, {"groups": np.arange(N) // 10}, InfeasiblePlan, "With n = 300"),
        (TABLE, {"types": {"wages": "numeric"}}, ParameterError, "wages"),
        (TABLE, {"types": {"age": "number"}}, ParameterError, "type of column 'age'"),
        (TABLE | {"age": AGES.tolist()}, {}, DataError, "--types age=number"),
        (TABLE, {"types": {"job": "numeric"}}, DataError, "job"),
        (TABLE | {"age": AGES[1:]}, {}, DataError, "one length"),
        (TABLE, {"drop": ("age", "job", "member")}, DataError, "besides those that are left out"),
        (TABLE, {"drop": ("age", "job")}, ParameterError, "truth values|needs no ε"),
        ({"y": TABLE["job"], "y is missing": AGES}, {}, ParameterError, "one name"),
        (np.zeros((N, 2)), {}, DataError, "columns with names"),
    ],
)
def test_what_is_refused_costs_nothing(
    account: Account, given: Any, more: dict[str, Any], error: type[PcqrError], words: str
) -> None:
    parameters: dict[str, Any] = {"epsilon": 1.0, "account": account} | more
    with pytest.raises(error, match=words) as raised:
        Schema.private(given, **parameters)
    assert not account.charges
    assert "cook" not in str(raised.value)


def test_it_is_known_whether_anything_was_spent(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool | None] = []
    table = module.raw_table(TABLE, {}, ())
    release = module.SchemaRelease(1.0, 1e-6)
    shipped = Account.charge

    def charged(*given: Any, **facts: Any) -> Any:
        seen.append(release.has_spent)
        return shipped(*given, **facts)

    monkeypatch.setattr(Account, "charge", charged)
    schema = release.run(table, account=account, before_charge=lambda: seen.append(release.has_spent))
    assert seen == [False, None]
    assert release.has_spent
    assert schema.charge == f"{account.id}-1"
    with pytest.raises(AccountExhausted):
        (broke := module.SchemaRelease(2.0, 1e-6)).run(table, account=account)
    assert broke.has_spent is None, "the account knows"


def test_an_account_of_persons_is_not_charged_for_records(home: Path) -> None:  # noqa: ARG001
    user_level = Account.create("persons", epsilon=5.0, delta=1e-5, unit=USER)
    with pytest.raises(ParameterError, match="about the account's unit"):
        Schema.private(TABLE, 1.0, account=user_level)
    assert not user_level.charges


def test_of_persons_one_row_of_each_is_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """Somebody has all rows of one age and job. In no output are more than one of them."""
    ids = np.where(TABLE["job"] == "cook", 0, np.arange(N))
    user_level = np.unique(ids).size
    shipped, seen = module.__dict__["drawn_schema"], []

    def drawn(table: Any, *others: Any) -> Any:
        seen.append(table)
        return shipped(table, *others)

    monkeypatch.setattr(module, "drawn_schema", drawn)
    account = Account.create("persons", epsilon=5.0, delta=1e-5, unit=USER)
    schema = Schema.private(TABLE, 1.0, groups=ids, account=account)
    (asked,) = seen
    (texts,) = asked.texts(["job"])
    jobs = [texts["job"].texts[place] for place in texts["job"].places]
    assert (asked.size, jobs.count("cook")) == (user_level, 1)
    assert schema.columns[1].categories == ("nurse",)
    guarantee = schema.guarantee
    assert guarantee is not None
    assert guarantee.unit == USER
    assert any("one row of each is chosen by a secret coin" in step for step in guarantee.steps)
    assert schema.cost[0].endswith("for persons, all rows of one together")
    assert account.charges[0].facts == {"records": user_level}
    records = Account.create("records", epsilon=5.0, delta=1e-5)
    with pytest.raises(ParameterError, match="about the account's unit"):
        Schema.private(TABLE, 1.0, groups=ids, account=records)
    assert not records.charges


def test_files_keep_whom_a_schema_protects(tmp_path: Path) -> None:
    schema = released(groups=np.arange(N))
    schema.to_json(tmp_path / "s.json")
    again = Schema.from_json(tmp_path / "s.json")
    assert again.guarantee is not None
    assert again.guarantee.unit == USER
    assert again.cost == schema.cost


def test_persons_in_parts_are_told_what_to_do(tmp_path: Path) -> None:
    write_table(tmp_path / "0.parquet", {name: list(cells) for name, cells in TABLE.items()})
    with pytest.raises(DataError, match="read it into memory"):
        Schema.private(ParquetTable(tmp_path, label="member"), 1.0, groups=np.arange(N))


def test_a_weak_guarantee_is_warned_of() -> None:
    with pytest.warns(WeakGuarantee):
        released(epsilon=11.0)


def test_files_in_parts_give_the_same_schema_and_bad_cells_cost_nothing(tmp_path: Path, account: Account) -> None:
    for part in range(3):
        write_table(tmp_path / f"{part}.parquet", {name: list(cells[part::3]) for name, cells in TABLE.items()})
    whole = {name: np.concatenate([cells[part::3] for part in range(3)]) for name, cells in TABLE.items()}
    found = Schema.private(ParquetTable(tmp_path, label="member"), 1.0, entropy=0)
    assert found == released(whole, drop=("member",))
    bad = np.where(np.arange(N) == 7, "seven", AGES.astype(str))
    (tmp_path / "bad").mkdir()
    write_table(tmp_path / "bad" / "0.parquet", {"a": bad.tolist()})
    with pytest.raises(DataError, match="column 'a'") as raised:
        Schema.private(ParquetTable(tmp_path / "bad", label="y"), 1.0, types={"a": "numeric"}, account=account)
    assert "seven" not in str(raised.value)
    assert not account.charges


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_files_keep_the_guarantee_and_the_charge_but_nothing_of_the_rows(
    tmp_path: Path, account: Account, suffix: str
) -> None:
    schema, path = Schema.private(TABLE, 1.0, account=account), tmp_path / f"schema{suffix}"
    write, read = (schema.to_json, Schema.from_json) if suffix == ".json" else (schema.to_toml, Schema.from_toml)
    write(path)
    again = read(path)
    assert (again, again.guarantee, again.charge, again.origin) == (schema, schema.guarantee, schema.charge, None)
    assert again.guarantee is not None
    assert again.guarantee.is_charged
    assert set(schema.history()) == {"guarantee"}
    assert Schema.from_dict(schema.to_dict() | schema.history()).guarantee == schema.guarantee
    assert "digest" not in path.read_text()
    assert again.without("job").cost[0].startswith("the schema (cuts, shares), which cost ε = 1")


@pytest.mark.parametrize(
    "change", [{"epsilon": "1"}, {"adjacency": "any"}, {"charge": 3}, {"digest": "00"}, {"epsilon": None}]
)
def test_a_guarantee_that_cannot_be_read_is_refused(change: dict[str, Any]) -> None:
    schema = released()
    told = json.loads(json.dumps(schema.to_dict() | schema.history()))
    told["guarantee"] |= change
    with pytest.raises(ParameterError, match="guarantee of a schema"):
        Schema.from_dict(told)


def test_it_is_used_on_the_very_rows_that_it_was_made_of_and_said_in_what_is_promised(account: Account) -> None:
    schema = Schema.private(TABLE, 1.0, account=account)
    classifier = PrivateClassifier(1.0, method="tree", trees=DecisionTrees(depth=1), account=account)
    classifier.fit(TABLE, LABELS, schema=schema)
    assert classifier.guarantee_.is_private
    assert schema.cost[0] in classifier.guarantee_.assumptions
    assert len(account.charges) == 2
    trees = classifier.hypotheses_
    assert isinstance(trees, DecisionTrees)
    cuts = {predicate.cut for predicate in trees.predicates or () if predicate.feature == 0}
    assert cuts == set(schema.columns[0].cuts)
    model = PublishedModel.from_learner(classifier)
    card = model.card()
    assert f"cost ε = 1, δ = 1e-06 of its own (charge {account.id}-1)" in card
    assert PublishedModel.from_json(model.to_json()).card() == card
    assert "shares" not in json.loads(model.to_json())["schema"]["columns"][0]


def test_what_rests_on_it_says_whom_it_protects_and_what_it_assumes() -> None:
    """A model about persons has a schema about records, which costs a person with several rows more."""
    learner = SemiPrivateLearner(DecisionTrees(depth=1), epsilon=1.0)
    learner.fit(TABLE, LABELS, schema=Schema.private(TABLE, 1.0), groups=np.arange(N) // 2)
    assert learner.guarantee_.unit == USER
    said = learner.guarantee_.assumptions
    assert any(each.startswith("the schema (") and each.endswith("for single records") for each in said)
    assert "which types the columns have is public" in said


def test_what_is_made_of_a_seeded_schema_is_not_private(account: Account) -> None:
    schema = released()
    assert not schema.is_private
    assert "NOT PRIVATE" in schema.cost[0]
    with pytest.raises(ParameterError, match="account"):
        released(account=account)
    learner = SemiPrivateLearner(DecisionTrees(depth=1), epsilon=1.0).fit(TABLE, LABELS, schema=schema)
    assert not learner.guarantee_.is_private
    with pytest.raises(ParameterError, match="a seeded one is not charged"):
        SemiPrivateLearner(DecisionTrees(depth=1), epsilon=1.0, account=account).fit(TABLE, LABELS, schema=schema)
    assert not account.charges


def test_a_declared_schema_costs_nothing() -> None:
    declared = Schema.from_dict({"columns": [{"name": "age"}]})
    assert (declared.cost, declared.guarantee, declared.charge, declared.is_private) == ((), None, None, True)
    assert declared.history() == {}


def test_facts_of_a_guarantee_come_back() -> None:
    for guarantee in (Guarantee(1.0, 1e-6, rho=0.25, is_charged=True), Guarantee(0.5, unit=USER, steps=("a", "b"))):
        again = Guarantee.from_facts(json.loads(json.dumps(guarantee.facts())), "here")
        assert (again, again.is_charged) == (guarantee, guarantee.is_charged)
