"""A release or a model that a server has, with the face of a local one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.client.address import Address, read_api_key
from pcqr.client.costs import cost_of_many, new_rows
from pcqr.client.errors import KeyInClear, NotConfirmed, QuotaSpent, ServiceError, quoted
from pcqr.client.refusals import answered_before, refusal
from pcqr.client.replies import Batch, Facts, batch_of, believing, cost_of, facts_of, known_of
from pcqr.client.rows import Rows, row_of, rows_of, truth_of
from pcqr.client.wire import Wire, client_of, new_token
from pcqr.errors import BudgetExhausted, Halted, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.plan import Answer, BatchCost, Usage
from pcqr.schema import Schema
from pcqr.schema.cells import weights

R = TypeVar("R")
BATCH = 256
"""Rows of one request for answers, where the server takes so many."""
PREVIEWED_CELLS = 200_000
"""Of one request for what rows cost."""
LONGEST = 3600.0


def connect(url: str, key: str | None = None, *, timeout: float = 30.0, verify: str | None = None) -> Remote:
    """A release or a published model that `pcqr serve` has elsewhere, with the face of a local one.

    Nothing is asked and nothing is spent: the public facts are read, so that a wrong address or key is noticed now.

    Parameters
    ----------
    url : str
        "https://HOST:PORT/NAME". The name may be left out where the server has one thing alone.
    key : str or None, default None
        Where the key is: "env:NAME" or "file:PATH". None: the variable PCQR_KEY, or no key where that is not set. Never
        the key itself.
    timeout : float, default 30.0
        Seconds that one try may take, as a whole. Tries whose reply was lost are repeated a few times: each request has
        a token of its own, by which the server knows it, so nothing is answered or counted twice.
    verify : str or None, default None
        A file with the certificates to trust. None: those of this machine.

    Returns
    -------
    Remote

    Raises
    ------
    ParameterError
        When the address, the timeout or the file of certificates is none, or the address has a password in it.
    SecretError
        When there is no key where it should be.
    ServiceError
        When nobody answers, the key is refused, or there is no such release. `pcqr.client.errors` has all kinds.
    MissingExtra
        When httpx is not installed: the extra `client`.

    Examples
    --------
    >>> import pcqr
    >>> pcqr.connect("http://me:secret@127.0.0.1:8080/hospital")
    Traceback (most recent call last):
        ...
    pcqr.errors.ParameterError: url must be http(s)://HOST[:PORT]/NAME, without a password, a key or a question mark;
    received 'one with more in it (a key is named by key=…, or set as PCQR_KEY)'.
    >>> remote = pcqr.connect("http://127.0.0.1:8080/hospital")  # doctest: +SKIP
    >>> remote.answer({"age": 61, "sex": "female"}).label  # doctest: +SKIP
    'ill'
    """
    address, secret = Address.read(url), read_api_key(key)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST:
        raise ParameterError("timeout", f"a number of seconds, above 0 and at most {LONGEST:g}", timeout)
    if secret is not None and not address.is_encrypted and not address.is_loopback:
        warnings.warn(
            f"The key goes to {address.server} unencrypted: whoever can read the network can read it. Take https.",
            KeyInClear,
            stacklevel=2,
        )
    wire = Wire(address, client_of(address, secret, timeout, verify), timeout)
    try:
        return Remote(wire)
    except BaseException:
        wire.close()
        raise


class Remote:
    """A release or a published model on a server: `answer`, `answers`, `predict`, `preview`, `score` as a local one.

    `connect` makes it. Queries are read and checked here, by the schema of the server, and sent in batches of 256, or
    of as many as the server takes; the values that come back and the errors are those of a local release. Threads take
    turns: `connect` once for each that should not wait.

    Parameters
    ----------
    wire : Wire
        The conversation with the server.

    Attributes
    ----------
    guarantee_ : Guarantee
        What was promised.
    schema_ : Schema or None
        The columns of a query. None: n_features_in_ numbers.
    classes_ : ndarray
        The names of the labels.
    n_features_in_ : int
        Features of an encoded query.
    queries_answered_ : int
        Distinct queries that the release has answered, to anybody. Asks the server.
    unstable_left_ : int or None
        Unstable answers that are left. None: there is no limit. Asks the server.
    is_published_ : bool
        Has the release published a classifier? Asks the server.

    Examples
    --------
    >>> from pcqr.client import Remote
    >>> [name for name in vars(Remote) if name in ("answer", "answers", "predict", "preview", "score")]
    ['answer', 'answers', 'predict', 'preview', 'score']
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        if not wire.address.name:
            wire.address = Address(wire.address.server, self._only_name())
        self._place = str(wire.address)
        facts = self._facts()
        self._facts_then = facts
        self.guarantee_: Guarantee = facts.guarantee
        self.schema_: Schema | None = facts.schema
        self.classes_: NDArray[Any] = _as_array(facts.classes)
        self.n_features_in_: int = facts.features

    def answer(self, x: Any, *, confirm: bool = False) -> Answer[Any]:
        """The label of one query, or ⊥ (label None) where the vote is unstable and the release abstains then.

        Parameters
        ----------
        x : vector, one-row table or, with a schema, mapping of column to value
            The query.
        confirm : bool, default False
            As for `predict`.

        Returns
        -------
        Answer
            The label, how it came about, and what has been spent and is left.

        Raises
        ------
        BudgetExhausted
            When the release is exhausted and the query is new.
        QuotaSpent
            When nothing is left of what this key may ask, and the query is new.
        DataError
            When it is not one query of the schema. Nothing was sent.
        ServiceError
            When the server cannot be reached, or refuses.
        """
        return next(answer for answer, _ in self._asked(row_of(x, self.schema_, self.n_features_in_), confirm=confirm))

    def answers(self, X: Any, *, confirm: bool = False) -> Iterator[Answer[Any]]:
        """As `answer`, for every row in order. All rows are checked before the first one is sent.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries.
        confirm : bool, default False
            As for `predict`.

        Yields
        ------
        Answer
            One for each row. The server says what is spent and left after a batch. For the rows before its last one
            that is counted back, as though every row that is new to this key had been new to the release.
        """
        rows = rows_of(X, self.schema_, self.n_features_in_)
        return (answer for answer, _ in self._asked(rows, confirm=confirm))

    def predict(self, X: Any, *, confirm: bool = False) -> NDArray[Any]:
        """A label for every row, asked in order; unstable rows get the coin that the release has drawn and logged.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries.
        confirm : bool, default False
            Ask also where the rows are expected to exhaust the release for everybody, for ever (`preview(X)` says so:
            `is_exhausting`). Otherwise such rows are not asked.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        BudgetExhausted
            When the release is exhausted midway; it carries the answers so far.
        QuotaSpent
            When what this key may ask is used up midway; it carries the answers so far.
        NotConfirmed
            When the rows are expected to exhaust the release, without `confirm`. Should that turn out midway, the rows
            before are answered and logged.
        DataError
            When the rows are not those of the schema. Nothing was sent.
        ServiceError
            When the server cannot be reached, or refuses.
        """
        labels: list[Any] = []
        for answer, coin in self._asked(rows_of(X, self.schema_, self.n_features_in_), confirm=confirm):
            labels.append(self._predicted(answer, coin))
        return np.array(labels, dtype=self.classes_.dtype)

    def preview(self, X: Any) -> BatchCost:
        """What it would cost to ask for rows, in order. Asks for nothing and costs nothing.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, any number of them.

        Returns
        -------
        BatchCost
            What is new, what is repeated, what is certain, and what the planner's model expects.

        Raises
        ------
        DataError
            When the rows are not those of the schema. Nothing was sent.
        ServiceError
            When the server cannot be reached, or refuses.
        """
        return self._preview(rows_of(X, self.schema_, self.n_features_in_))

    def _preview(self, rows: Rows) -> BatchCost:
        pieces = list(self._pieces(rows))
        if len(pieces) == 1:
            return self._previewed(rows, cost_of)
        facts = self._facts()
        told = [
            self._previewed(piece, lambda content, count: (cost_of(content, count), known_of(content, count)))
            for piece in pieces
        ]
        known = zip((piece.encoded(self.schema_) for piece in pieces), (each for _, each in told), strict=True)
        return cost_of_many(new_rows(known), facts, told[-1][0].quota)

    def known(self, X: Any) -> NDArray[np.bool_]:
        """Which rows were asked before: their answers are in the log and cost nothing. Asks for nothing.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            The queries, any number of them.

        Returns
        -------
        ndarray of bool, shape (rows,)
        """
        rows = rows_of(X, self.schema_, self.n_features_in_)
        known = (self._previewed(piece, known_of) for piece in self._pieces(rows))
        return np.array([each for piece in known for each in piece], dtype=np.bool_)

    def _pieces(self, rows: Rows) -> Iterator[Rows]:
        """So many rows at a time as one request for what they cost takes."""
        return rows.pieces(max(1, min(self._facts_then.most_rows, PREVIEWED_CELLS // rows.cells)))

    def _previewed(self, rows: Rows, read: Callable[[Any, int], R]) -> R:
        reply = self._wire.call("POST", self._path("/preview"), rows.body)
        if reply.status != 200:
            raise refusal(reply, self._place)
        with believing(self._place):
            return read(reply.content, rows.count)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, confirm: bool = False) -> float:
        """The share of rows of `X` that `predict` labels as `y` does; rows without an answer count as half right."""
        rows = rows_of(X, self.schema_, self.n_features_in_)
        truth = truth_of(y, self._facts_then.classes, rows.count)
        by_row = weights(sample_weight)
        right = np.full(rows.count, 0.5)
        answered = 0
        try:
            for answer, coin in self._asked(rows, confirm=confirm):
                right[answered] = self._facts_then.classes.index(self._predicted(answer, coin)) == truth[answered]
                answered += 1
        except (BudgetExhausted, QuotaSpent):
            message = f"No more answers after {answered:,} of {rows.count:,} rows; the others count as half right."
            warnings.warn(message, Halted, stacklevel=2)
        return float(np.average(right, weights=by_row))

    @property
    def queries_answered_(self) -> int:
        """Distinct queries that the release has answered, to anybody."""
        return self._facts().spent.queries or 0

    @property
    def unstable_left_(self) -> int | None:
        """Unstable answers that may still be given. None: there is no limit."""
        return self._facts().left.unstable

    @property
    def is_published_(self) -> bool:
        """Has the release published a classifier, which answers for ever? False for one that is not shown."""
        facts = self._facts()
        return facts.kind == "model" or (facts.state == "published" and facts.shows_classifier)

    def close(self) -> None:
        """Close the connection. The next question opens another one."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Remote({self._place!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A connection cannot be pickled or copied: call pcqr.connect there.")

    def _asked(self, rows: Rows, *, confirm: bool) -> Iterator[tuple[Answer[Any], Any]]:
        """The answers, each with its coin, batch by batch; a refusal carries those before it."""
        given: list[Answer[Any]] = []
        size = min(BATCH, self._facts_then.most_rows)
        if not confirm and rows.count > size:  # the server sees one batch at a time
            self._check_whole(rows)
        for piece in rows.pieces(size):
            start = len(given)
            path = self._path("/ask?confirm=true" if confirm else "/ask")
            reply = self._wire.call("POST", path, piece.body, new_token())
            if reply.status == 200:
                with believing(self._place):
                    batch = batch_of(reply.content, piece.count, self._facts_then.classes, is_release=self._is_release)
            else:  # refused midway, perhaps
                with believing(self._place):
                    told = answered_before(reply, piece.count, self._facts_then.classes)
                batch = Batch(told, *self._now()) if told else Batch((), Usage(0, 0), Usage(None, None))
            for answer, coin in self._answers(batch):
                given.append(answer)
                yield answer, coin
            if reply.status != 200:
                raise refusal(reply, self._place, self._now, start, rows.count - len(given), given)

    def _check_whole(self, rows: Rows) -> None:
        """Raise unless the rows, all together, may be asked without a confirmation."""
        if cost_of_many(np.ones(rows.count, dtype=np.bool_), self._facts()).is_exhausting:  # if all of them were new
            cost = self._preview(rows)
            if cost.is_exhausting:
                raise NotConfirmed(self._place, cost)

    def _answers(self, batch: Batch) -> list[tuple[Answer[Any], Any]]:
        """Return the answers of a batch. Count back what was spent after each from what was spent after the last."""
        found: list[tuple[Answer[Any], Any]] = []
        spent, left, planned = batch.spent, batch.left, self._facts_then.planned
        for given in reversed(batch.given):
            is_beyond = planned is not None and given.kind != "published" and (spent.queries or 0) > planned
            label = given.coin if given.label is None and self._facts_then.on_unstable == "random" else given.label
            found.append((Answer(label, given.kind, spent, left, is_beyond), given.coin))
            if given.kind in ("stable", "unstable"):
                unstable = int(given.kind == "unstable")
                spent, left = _moved(spent, -1, -unstable), _moved(left, 1, unstable, 1 - unstable)
        return found[::-1]

    def _predicted(self, answer: Answer[Any], coin: Any) -> Any:
        if answer.label is not None:
            return answer.label
        return self._facts_then.classes[0] if coin is None else coin

    @property
    def _is_release(self) -> bool:
        return self._facts_then.kind == "release"

    def _path(self, more: str = "") -> str:
        return f"/v1/releases/{self._wire.address.name}{more}"

    def _facts(self) -> Facts:
        reply = self._wire.call("GET", self._path())
        if reply.status != 200:
            raise refusal(reply, self._place)
        with believing(self._place):
            return facts_of(reply.content)

    def _now(self) -> tuple[Usage, Usage]:
        """What is spent and what is left."""
        facts = self._facts()
        return facts.spent, facts.left

    def _only_name(self) -> str:
        """The name of what the server has, where that is one thing."""
        server = self._wire.address.server
        reply = self._wire.call("GET", "/v1/releases")
        if reply.status != 200:
            raise refusal(reply, server)
        listed = reply.content.get("releases") if isinstance(reply.content, dict) else None
        entries = listed if isinstance(listed, list) else []
        names = [str(entry["name"]) for entry in entries if isinstance(entry, dict) and "name" in entry]
        with believing(server):
            if len(names) == 1 and Address.read(f"{server}/{names[0]}") == Address(server, names[0]):
                return names[0]
        has = ", ".join(map(quoted, names[:20])) or "nothing"
        raise ServiceError(server, f"was asked for nothing by name. It has: {has}", f"Take {server}/NAME.")


def _moved(usage: Usage, queries: int, unstable: int, labels: int = 0) -> Usage:
    """`usage` with so many more of each, where it has a number."""
    moved = zip((usage.queries, usage.unstable, usage.labels), (queries, unstable, labels), strict=True)
    return Usage(*(None if number is None else max(0, number + by) for number, by in moved))


def _as_array(names: Sequence[Any]) -> NDArray[Any]:
    """Names of one type as numpy has it, others as they are."""
    kinds = {type(name) for name in names}
    plain = kinds in ({str}, {bool}) or kinds <= {int, float}
    return np.array(names, dtype=None if plain else object)
