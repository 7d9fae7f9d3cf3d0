"""What outlives a process: accounts of private tables, ledgers, and the secrets that are kept beside them.

`pcqr.release.account` says what may ever be spent on a table, and what was (docs/account.md).
"""

from pcqr.release.account import Account

__all__ = ["Account"]
