"""An append-only log of one release or one account, chained by hashes, whose anchor is kept apart (proofs/ledger.md).

    with open_ledger("hospital.account", "account") as ledger, ledger.turn() as turn:
        turn.append("charge", body)
        turn.state = state
    # here the turn is on disk, and the anchor has moved: what follows may be shown

Two stores behind one contract: SQLite (a path; one writer) and PostgreSQL (an address; writers take turns).
"""

from pcqr.release.ledger.chain import Entry, Link
from pcqr.release.ledger.ledger import Ledger
from pcqr.release.ledger.opening import create_ledger, open_ledger
from pcqr.release.ledger.turn import Turn

__all__ = ["Entry", "Ledger", "Link", "Turn", "create_ledger", "open_ledger"]
