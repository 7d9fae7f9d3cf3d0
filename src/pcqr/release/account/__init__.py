"""The account of a private table: what may ever be spent on it, and what was, over all releases (proofs/account.md)."""

from pcqr.release.account.account import Account, AccountLike, resolve_account
from pcqr.release.account.entries import Charge

__all__ = ["Account", "AccountLike", "Charge", "resolve_account"]
