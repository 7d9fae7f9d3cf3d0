"""A client and a real server: the face, the values and the errors of a release that is here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.certificates import certificate
from support.kept import AT_FIT, ESTIMATORS, HARD, QUERIES, kept, reopened
from support.serving import CLINIC, clinic, clinic_place, release_place, running, serving

import pcqr
from pcqr import BudgetExhausted
from pcqr.client import Remote
from pcqr.client.errors import BadReply, NotAdmitted, QuotaSpent
from pcqr.client.wire import Address, Wire
from pcqr.releases.protocol.answers import Usage
from pcqr.server.app import make_app
from pcqr.server.keys import KeyFile
from pcqr.server.run import tls
from pcqr.server.service import Service
from pcqr.server.state import ServerState, Settings

pytestmark = pytest.mark.usefixtures("pauses")


def test_a_release_that_is_served_is_the_release(tmp_path: Path) -> None:
    place = clinic_place(tmp_path / "served")
    clinic_place(tmp_path / "here")
    local: Any = reopened(tmp_path / "here")
    with serving(place) as address, pcqr.connect(f"{address}/clinic") as remote:
        assert remote.guarantee_ == local.guarantee_
        assert remote.schema_ == local.schema_ == CLINIC
        assert remote.classes_.tolist() == local.classes_.tolist()
        assert remote.n_features_in_ == local.n_features_in_
        queries = {name: [*values, values[0]] for name, values in clinic(300, seed=5).items()}
        assert remote.preview(queries) == local.preview(queries)
        assert list(remote.answers(queries, confirm=True)) == list(local.answers(queries))
        assert remote.preview(queries) == local.preview(queries)
        one = {"age": 91, "sex": None, "seen": "2021-02-03"}
        assert remote.answer(one) == local.answer(one)
        assert remote.answer(one) == local.answer(one), "repeated"
        assert (remote.queries_answered_, remote.unstable_remaining_) == (
            local.queries_answered_,
            local.unstable_remaining_,
        )
        assert remote.predict(queries).tolist() == local.predict(queries).tolist()
        truth = ["ill" if age > 60 else "well" for age in queries["age"]]
        assert remote.score(queries, truth) == local.score(queries, truth) == 1.0
        assert not remote.is_published_
    local.close()


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_any_number_of_rows_are_previewed_and_asked_in_requests_that_the_server_takes(
    tmp_path: Path, name: str
) -> None:
    """In pieces of 7 rows the cost is the one that the release itself tells of the whole, repeated rows included."""
    kept(tmp_path, name, **({} if name in ("noisy max", "confident max", "agnostic by noise") else {"unstable": 4}))
    queries = np.concatenate([QUERIES, HARD, QUERIES[::-1], [[-0.0], [0.0]]])

    def here() -> tuple[Any, ...]:
        release = reopened(tmp_path)
        told = release.preview(queries), release.preview(queries[:6]), release.asked_before(queries).tolist()
        release.close()
        return told

    before = here()
    with serving(release_place(tmp_path), most_rows=7) as address, pcqr.connect(f"{address}/ages") as remote:

        def there() -> tuple[Any, ...]:
            return remote.preview(queries), remote.preview(queries[:6]), remote.asked_before(queries).tolist()

        assert there() == before
        with suppress(BudgetExhausted):
            remote.predict(QUERIES[::2])
        after = there()
    assert here() == after != before


def test_a_coin_is_told_where_the_release_tells_it(tmp_path: Path) -> None:
    for on_unstable in ("abstain", "random"):
        kept(tmp_path / on_unstable, on_unstable=on_unstable)
        with serving(release_place(tmp_path / on_unstable)) as address, pcqr.connect(f"{address}/ages") as remote:
            answers: list[Any] = []
            for x in HARD:
                answers.append(remote.answer(x))
                if answers[-1].kind == "unstable":
                    break
            assert (answers[-1].kind, answers[-1].label is None) == ("unstable", on_unstable == "abstain")
            known = HARD[: len(answers)]
            again = list(remote.answers(known))
            assert [answer.label for answer in again] == [answer.label for answer in answers]
            assert {answer.kind for answer in again} == {"repeated"}
        local = reopened(tmp_path / on_unstable)
        assert [answer.label for answer in local.answers(known)] == [answer.label for answer in answers]
        local.close()


def test_a_reply_that_was_lost_is_not_answered_twice(tmp_path: Path) -> None:
    class Losing(httpx.HTTPTransport):
        """Loses the first reply to each question, when the server has given it."""

        def __init__(self) -> None:
            super().__init__()
            self.lost: set[str] = set()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            token = request.headers.get("idempotency-key", "")
            if not token or token in self.lost:
                return response
            self.lost.add(token)
            response.read()
            response.close()
            raise httpx.ReadError("lost")

    kept(tmp_path)
    losing = Losing()
    with serving(release_place(tmp_path)) as address:
        remote = Remote(Wire(Address.read(f"{address}/ages"), lambda: httpx.Client(transport=losing), 30.0))
        kinds = [answer.kind for answer in remote.answers(np.concatenate([QUERIES, HARD[:3]]))]
        assert "repeated" not in kinds, "the replies are those that were lost"
        assert remote.queries_answered_ == len(QUERIES) + 3
        assert len(losing.lost) == 1
        remote.close()


def test_keys_are_asked_for_and_their_quotas_end_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path)
    key = KeyFile(tmp_path / "keys.json").create("ward", "asker", Usage(3, None))
    (tmp_path / "key").write_text(key)
    monkeypatch.delenv("PCQR_KEY", raising=False)
    with serving(release_place(tmp_path), keys=tmp_path / "keys.json") as address:
        with pytest.raises(NotAdmitted, match="pcqr keys create"):
            pcqr.connect(f"{address}/ages")
        monkeypatch.setenv("PCQR_KEY", "pcqr_wrong")
        with pytest.raises(NotAdmitted) as wrong:
            pcqr.connect(f"{address}/ages")
        assert "pcqr_wrong" not in str(wrong.value)
        remote = pcqr.connect(f"{address}/ages", f"file:{tmp_path / 'key'}")
        cost = remote.preview(QUERIES[:5])
        assert (cost.certain, cost.quota, cost.is_refused, cost.is_exhausting) == (3, Usage(3, None), True, False)
        with pytest.raises(QuotaSpent) as spent:
            remote.predict(QUERIES[:5])
        assert (len(spent.value.answers), spent.value.requested, spent.value.used.queries) == (3, 2, 3)
        assert remote.predict(QUERIES[:3]).tolist() == [0, 0, 0], "what was asked before is free"
        assert "The key's quota will end before the last row" in str(remote.preview(QUERIES[5:6]))
        remote.close()
    assert key not in str(spent.value) + repr(remote)


def test_a_certificate_is_verified(tmp_path: Path) -> None:
    kept(tmp_path)
    chain, key = certificate(tmp_path)
    settings = Settings(certificate=chain, certificate_key=key)
    state = ServerState(settings, Service.open([release_place(tmp_path)]))
    with running(make_app(state), state, tls(settings)) as server:
        address = f"https://localhost:{server.port}/ages"
        with pytest.raises(BadReply, match="cannot prove who it is"):
            pcqr.connect(address)
        with pcqr.connect(address, verify=str(chain)) as remote:
            assert remote.answer([0.9]).label == 1


@pytest.mark.parametrize("name", AT_FIT)
def test_a_release_without_votes_is_served_and_its_classifier_where_it_is_shown(name: str, tmp_path: Path) -> None:
    kept(tmp_path / "served", name)
    kept(tmp_path / "here", name)
    local: Any = reopened(tmp_path / "here")
    is_shown = name == "published at fit"
    with serving(release_place(tmp_path / "served")) as address, pcqr.connect(address) as remote:
        assert remote.guarantee_ == replace(local.guarantee_, rho=None)  # which is for accounts
        assert remote.preview(QUERIES) == local.preview(QUERIES)
        assert list(remote.answers(QUERIES)) == list(local.answers(QUERIES))
        assert (remote.queries_answered_, remote.unstable_remaining_) == (0, None)
        assert remote.is_published_ == is_shown
        told = httpx.get(f"{address}/v1/releases/ages").json()
        assert (told["state"], told["shows_classifier"]) == ("published", is_shown)
        assert (told["rules"] is not None, told["picture"] is not None) == (is_shown, is_shown)
        picture = httpx.get(f"{address}/v1/releases/ages/picture.svg")
        assert picture.status_code == (200 if is_shown else 404)
    local.close()
