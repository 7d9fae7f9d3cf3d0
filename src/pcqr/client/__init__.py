"""A release that is served elsewhere (`pcqr serve`), with the estimator face. Needs the extra `client`.

`connect` checks everything that a server says: it need not be trusted with more than the queries that it is sent.
"""

from pcqr.client.errors import BadReply, NotAdmitted, QuotaSpent, ServiceAway, ServiceError
from pcqr.client.remote import KeyInClear, Remote, connect

__all__ = [
    "BadReply",
    "KeyInClear",
    "NotAdmitted",
    "QuotaSpent",
    "Remote",
    "ServiceAway",
    "ServiceError",
    "connect",
]
