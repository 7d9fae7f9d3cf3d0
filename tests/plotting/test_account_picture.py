"""The picture of an account: every release is in it, where the one before ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcqr import Guarantee
from pcqr.durable.account import Account
from pcqr.durable.account.filters import Tally
from pcqr.errors import ParameterError
from pcqr.plotting import pictures as account_picture
from pcqr.plotting.axes import MUTED, OTHERS, PUBLISHED, VOTES
from pcqr.plotting.pictures import draw_account

pytestmark = pytest.mark.usefixtures("home")


def words(path: Path) -> str:
    """Matplotlib writes the text that it draws as outlines into comments."""
    return path.read_text(encoding="utf-8")


def test_it_says_what_was_run_and_what_is_left(home: Path) -> None:
    account = Account.create("hospital", 2.0, 1e-5)
    account.charge(Guarantee(0.5, 1e-6), "AgnosticRelease", hypotheses="Stumps")
    account.charge(Guarantee(0.25), "PrivateClassifier")
    account.charge(Guarantee(0.125), "a table of counts")
    draw_account(home / "account.svg", account)
    drawn = words(home / "account.svg")
    for part in ("Account hospital", "AgnosticRelease (Stumps)", "PrivateClassifier", "a table of counts", "ε = 1.125"):
        assert part in drawn
    names, spans, colours = account_picture._bars(account.charges)
    assert colours == [VOTES, PUBLISHED, OTHERS]
    assert [after for _, after in spans[:-1]] == [before for before, _ in spans[1:]]
    assert spans[0][0] == Tally()
    assert spans[-1][1] == account.spent
    assert all(account.charges[0].time[:10] in name for name in names)


def test_many_earlier_releases_share_a_bar(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_picture, "MOST_BARS", 2)
    account = Account.create("hospital", 2.0, 0.0)
    for _ in range(4):
        account.charge(Guarantee(0.25), "AgnosticRelease")
    draw_account(home / "account.svg", account)
    assert "2 earlier releases" in words(home / "account.svg")
    _, spans, colours = account_picture._bars(account.charges)
    assert colours == [MUTED, VOTES, VOTES]
    assert [float(after.loss) for _, after in spans] == [0.5, 0.75, 1.0]


@pytest.mark.parametrize("rule", ["basic", "zcdp"])
def test_an_account_that_nobody_used_has_a_picture(home: Path, rule: str) -> None:
    draw_account(home / "account.png", Account.create("new", 2.0, 1e-5, filter=rule))
    assert (home / "account.png").read_bytes().startswith(b"\x89PNG")


def test_other_suffixes_are_refused(home: Path) -> None:
    with pytest.raises(ParameterError, match=r"\.svg"):
        draw_account(home / "account.doc", Account.create("hospital", 2.0, 0.0))
