"""The account of a private table: what may ever be spent on it, and what was, over all releases (proofs/account.md)."""

from __future__ import annotations

from pcqr.durable.account.account import Account, AccountLike, Charge, resolve_account

__all__ = ["Account", "AccountLike", "Charge", "resolve_account"]
