"""An append-only log of one release or one account, chained by hashes, whose anchor is kept apart (proofs/ledger.md).

    with open_ledger("hospital.account", "account") as ledger, ledger.transaction() as transaction:
        transaction.append("charge", body)
        transaction.state = state
    # here the transaction is on disk, and the anchor has moved: what follows may be shown

Two stores behind one contract: SQLite (a path; one writer) and PostgreSQL (an address; writers take turns).
"""

from __future__ import annotations

from pcqr.durable.ledger.chain import Entry, Link
from pcqr.durable.ledger.ledger import Ledger, Transaction
from pcqr.durable.ledger.opening import create_ledger, open_ledger

__all__ = ["Entry", "Ledger", "Link", "Transaction", "create_ledger", "open_ledger"]
