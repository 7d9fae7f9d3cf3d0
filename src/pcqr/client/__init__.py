"""A release that is served elsewhere (`pcqr serve`), with the estimator face. Needs the extra `client`.

`connect` checks everything that a server says: it need not be trusted with more than the queries that it is sent.
`pcqr.client.errors` has what can go wrong on the way.
"""

from pcqr.client.remote import Remote, connect

__all__ = ["Remote", "connect"]
