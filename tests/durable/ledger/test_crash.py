"""A short version of `make crash`: processes are killed, and nothing that they have replied is lost."""

from __future__ import annotations

from support import postgres
from support.crashes import RANDOM, Subject, campaign
from support.ledgers import Shelf

from pcqr.durable.ledger import store as points


def test_kills_lose_nothing_in_files(files: Shelf) -> None:
    subject = Subject("SQLite", files.place(), files.folder, room=200)
    tallies = campaign(subject, at_random=8, at_points=3, workers=1, servers=0, seed=1)
    assert [tally.point for tally in tallies] == [RANDOM, *points.TURN]
    assert all(tally.is_good and tally.kills >= 3 and tally.replies for tally in tallies), tallies
    assert sum(tally.unreplied for tally in tallies) > 0


def test_kills_lose_nothing_in_tables(tables: Shelf, postgres_server: postgres.Server) -> None:
    subject = Subject("PostgreSQL", tables.place(), tables.folder, room=200, server=postgres_server)
    tallies = campaign(subject, at_random=8, at_points=3, workers=4, servers=1, seed=1)
    assert all(tally.is_good and tally.kills for tally in tallies), tallies
    assert sum(tally.replies for tally in tallies) > 0


def test_replies_that_come_too_early_are_seen_to_get_lost(files: Shelf) -> None:
    """A test of the tests above: with the order of writes the wrong way round they fail."""
    subject = Subject("SQLite", files.place(), files.folder, room=200, is_hasty=True)
    tallies = campaign(subject, at_random=0, at_points=5, workers=1, servers=0, seed=1)
    assert any(tally.lost for tally in tallies)
