"""IndividualKNN behind the face of all releases: answers, deletions, adjacency, what is refused."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pcqr import BudgetExhausted, CopyCannotAnswer, DataError, IndividualKNN, ParameterError
from pcqr.privacy.unit import PRESENCE, RECORD
from pcqr.release import Account
from pcqr.releases.knn.estimator import FORGOTTEN
from pcqr.releases.protocol.answers import Usage

CENTRES = np.array([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])


def drawn(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=rows)
    return rng.normal(size=(rows, 2)) + CENTRES[y], y


X, Y = drawn(20_000, 0)
PUBLIC = drawn(2_000, 1)[0]
NAMES = np.array(["remaining", "up", "here"])


def fitted(**parameters: Any) -> IndividualKNN:
    settings: dict[str, Any] = {"queries": 50, "classes": (0, 1, 2), "entropy": 0} | parameters
    return IndividualKNN(**settings).fit(X, Y, public=PUBLIC)


def test_near_records_say_the_label() -> None:
    queries, truth = drawn(50, 2)
    release = fitted()
    labels = release.predict(queries)
    assert (labels == truth).mean() > 0.85
    assert (release.predict(queries) == labels).all(), "from the log"
    assert release.queries_answered_ == 50
    assert release.answer(queries[0]).kind == "repeated"
    assert release.score(queries, truth) == (labels == truth).mean()


def test_classes_have_names() -> None:
    release = IndividualKNN(queries=20, entropy=0).fit(X, NAMES[Y], public=PUBLIC)
    assert sorted(release.classes_.tolist()) == ["here", "remaining", "up"]
    assert release.predict(CENTRES).tolist() == NAMES.tolist()
    assert any("names of the labels" in line for line in release.guarantee_.assumptions)


def test_the_guarantee_says_what_it_is_about() -> None:
    replaced, removed = fitted(), fitted(adjacency="remove")
    assert replaced.guarantee_.unit == RECORD
    assert removed.guarantee_.unit == PRESENCE
    assert "REMOVE OR ADD" in str(removed.guarantee_)
    assert FORGOTTEN in replaced.guarantee_.assumptions
    with pytest.raises(ParameterError, match="same unit"):
        replaced.guarantee_.compose(removed.guarantee_)


def test_an_account_of_records_refuses_the_weaker_promise(tmp_path: Path) -> None:
    account = Account.create(tmp_path / "account", 2.0, 1e-5, anchor=tmp_path / "anchor")
    with pytest.raises(ParameterError, match="about the account's unit, 'replace one record'"):
        fitted(adjacency="remove", account=account, entropy=None)
    assert not account.charges
    fitted(account=account, entropy=None)
    assert len(account.charges) == 1


def test_the_forgotten_vote_no_more_and_the_log_stays() -> None:
    release = fitted(epsilon=8.0)
    first = release.answer(CENTRES[0])
    assert first.label == 0
    assert release.forget(np.flatnonzero(Y == 0)) is None  # type: ignore[func-returns-value]
    assert release.answer(CENTRES[0]).label == 0, "what was said was said"
    later = [release.answer(CENTRES[0] + [0.0, step]).label for step in np.linspace(0.01, 0.2, 20)]
    assert later.count(0) < 10, "nobody of that label is left"
    release.forget(3)
    release.forget([])
    assert release.n_records_ == 20_000


@pytest.mark.parametrize("positions", [-1, 20_000, 1.0, [[1]], ["a"], [True]])
def test_positions_that_are_none_are_refused(positions: Any) -> None:
    with pytest.raises(ParameterError, match="positions must be integers from 0 to 19999"):
        fitted().forget(positions)


def test_it_halts_after_so_many_unanswered() -> None:
    release = fitted(unanswered=2, epsilon=0.3, neighbours=200, queries=20)
    release.forget(np.arange(20_000))
    with pytest.raises(BudgetExhausted):
        release.predict(np.arange(200.0).reshape(100, 2))
    assert release.unstable_answers_ == 2
    assert release.answer([0.0, 1.0]).kind == "repeated"


def test_it_cannot_be_kept_and_says_why(tmp_path: Path) -> None:
    release = fitted()
    with pytest.raises(ParameterError, match="what each record has spent would have to be kept with every answer"):
        release.save(tmp_path / "release", anchor=tmp_path / "anchor")
    assert not list(tmp_path.glob("**/*"))
    assert release.answer([4.0, 0.0]).label == 0


def test_a_copy_has_the_log_and_no_records() -> None:
    release = fitted(entropy=None)
    told = release.answer(CENTRES[0]).label
    for other in (copy.deepcopy(release), pickle.loads(pickle.dumps(release))):  # noqa: S301
        assert other.answer(CENTRES[0]).label == told
        for step in (lambda: other.answer(CENTRES[1]), lambda: other.forget(1)):  # noqa: B023
            with pytest.raises(CopyCannotAnswer):
                step()
    assert len(pickle.dumps(release)) < 50_000


def test_what_is_left_is_public() -> None:
    release = fitted(queries=30)
    assert release.plan_.remaining == Usage(480, 30)
    cost = release.preview(CENTRES)
    assert (cost.new, cost.certain, cost.expected_unstable) == (3, 3, None)
    assert "17" not in repr(release)


def test_public_rows_are_needed_and_must_not_be_private() -> None:
    with pytest.raises(ParameterError, match="public must be public rows"):
        IndividualKNN(entropy=0).fit(X, Y % 2)
    with pytest.raises(DataError, match="not private ones"):
        IndividualKNN(entropy=0).fit(X, Y % 2, public=X[:500])
