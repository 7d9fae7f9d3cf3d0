"""What many rows will cost, from public facts: so many that no request takes them all.

The server says of each row whether it was asked before. All else is counted here, as a release does it
(`pcqr.releases.protocol.log`): what is left, what was planned and when a classifier is published are public.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.client.errors import KeyInClear, NotConfirmed, QuotaSpent, ServiceError, quoted
from pcqr.client.wire import (
    Address,
    Batch,
    Facts,
    Wire,
    answered_before,
    asked_before_of,
    batch_of,
    believing,
    client_of,
    cost_of,
    facts_of,
    new_token,
    read_api_key,
    refusal,
)
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import categories, cells, iso_date, weights
from pcqr.data.schema.labels import places_among
from pcqr.data.schema.table import check_length, declared_columns, matrix_of, one_row
from pcqr.errors import BudgetExhausted, DataError, Exhausted, ParameterError
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.answers import Answer, BatchCost, Usage, batch_cost, keys, with_range


def new_rows(pieces: Iterable[tuple[NDArray[np.float64], Sequence[bool]]]) -> NDArray[np.bool_]:
    """Which rows were neither asked before (`asked_before`) nor are equal to an earlier one."""
    seen: set[bytes] = set()
    marks: list[bool] = []
    for points, asked_before in pieces:
        for key, is_known in zip(keys(points), asked_before, strict=True):
            marks.append(not is_known and key not in seen)
            seen.add(key)
    return np.array(marks, dtype=np.bool_)


def cost_of_many(is_new: NDArray[np.bool_], facts: Facts, quota: Usage | None = None) -> BatchCost:
    """Return the cost that `preview` of the release states for a key with this quota, if nobody asks in between."""
    asked, votes_remaining = facts.spent.queries or 0, _votes_remaining(facts)
    cost = batch_cost(
        is_new,
        remaining=facts.remaining,
        planned=max(0, (facts.planned or 0) - asked),
        unstable_share=facts.unstable_share,
        votes_remaining=votes_remaining,
        quota=quota,
    )
    cost = with_range(cost, facts.unstable_range)
    return cost if votes_remaining is None else replace(cost, remaining=replace(cost.remaining, queries=None))


def _votes_remaining(facts: Facts) -> int | None:
    """The new queries after which a published classifier answers. None: there will be none."""
    if facts.kind == "model" or facts.state == "published":
        return 0
    if facts.publishes_after is None:
        return None
    return max(1, facts.publishes_after - (facts.spent.queries or 0))


# ---------------------------------------------------------------------------------------------------------------------
# Queries as a request carries them: read and checked here, by the schema, before anything is sent.
#
# Each cell goes as what it means (`pcqr.data.schema.cells`): a number with all its digits, a category as its text, a
# date in ISO, null where it is missing. The server reads it as a local release would have read the cell itself.


TABLE = "the table"
"""What errors call the queries."""


@dataclass(frozen=True)
class Rows:
    """Checked queries: the cells of each column by its name, or of each row where there is no schema."""

    count: int
    columns: Mapping[str, Sequence[Any]] | None
    points: NDArray[np.float64] | None

    def pieces(self, size: int) -> Iterator[Rows]:
        """The same in order, at most `size` rows at a time."""
        for start in range(0, self.count, size):
            part = slice(start, start + size)
            columns = None if self.columns is None else {name: cells[part] for name, cells in self.columns.items()}
            points = None if self.points is None else self.points[part]
            yield Rows(min(size, self.count - start), columns, points)

    @property
    def cells(self) -> int:
        """In a row."""
        return max(1, len(self.columns) if self.columns is not None else self.encoded(None).shape[1])

    @property
    def body(self) -> bytes:
        """Of a request."""
        if self.columns is not None:
            sent: dict[str, Any] = {"columns": {name: list(cells) for name, cells in self.columns.items()}}
        else:
            sent = {"x": self.encoded(None).tolist()}
        return json.dumps(sent, allow_nan=False).encode()

    def encoded(self, schema: Schema | None) -> NDArray[np.float64]:
        """The rows as the release tells them apart."""
        if schema is not None and self.columns is not None:
            return schema.encode(self.columns)
        return np.empty((0, 0)) if self.points is None else self.points


def rows_of(X: Any, schema: Schema | None, features: int) -> Rows:
    """`X` as the release takes it, or a `DataError` that names the column."""
    found = _numbered(X, features) if schema is None else _declared(X, schema)
    if found.count == 0:
        raise DataError("X", "at least one row", "none")
    return found


def row_of(x: Any, schema: Schema | None, features: int) -> Rows:
    """One query: a vector, a one-row table or, with a schema, a mapping of column to value."""
    x = one_row(x, None if schema is None else schema.names)
    found = rows_of(x, schema, features)
    if found.count != 1:
        raise DataError("x", "one query", f"{found.count} rows; use predict for many")
    return found


def truth_of(y: Any, classes: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Return, for each of `count` rows, the place of its label `y` among `classes`, −1 for none of them."""
    if getattr(y, "ndim", 1) != 1 or not hasattr(y, "__len__") or len(y) != count:
        raise DataError("y", f"one label for each of the {count} rows", "something else")
    return places_among(classes, cells(y, "y"))


def _declared(X: Any, schema: Schema) -> Rows:
    columns: dict[str, Sequence[Any]] = {}
    first: NDArray[Any] | None = None
    for column, values in declared_columns(X, schema.columns, (), TABLE):
        entries = column.compact(values, table=TABLE)
        first = entries if first is None else first
        check_length(entries, first, TABLE)
        columns[column.name] = _sent(column, values, entries)
    return Rows(0 if first is None else first.shape[0], columns, None)


def _sent(column: Column, values: Any, entries: NDArray[Any]) -> Sequence[Any]:
    """The cells of a column as JSON has them."""
    if column.kind == "categorical":
        return categories(cells(values))
    found = [None if number != number else number for number in entries.tolist()]  # noqa: PLR0124 - NaN
    return found if column.kind == "numeric" else [None if day is None else iso_date(int(day)) for day in found]


def _numbered(X: Any, features: int) -> Rows:
    points = _matrix(X)
    if points.shape[1] != features:
        raise DataError("X", f"a table with {features} columns", f"{points.shape[1]} columns")
    if not np.isfinite(points).all():
        raise DataError("X", "finite numbers", "NaN or infinity")
    return Rows(points.shape[0], None, points)


def _matrix(X: Any) -> NDArray[np.float64]:
    try:
        return matrix_of(X).astype(np.float64)
    except TypeError:
        raise DataError("X", "a table of numbers, since the release has no schema", "something else") from None


# ---------------------------------------------------------------------------------------------------------------------
# A release or a model that a server has, with the face of a local one.


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
    unstable_remaining_ : int or None
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
            self._previewed(piece, lambda content, count: (cost_of(content, count), asked_before_of(content, count)))
            for piece in pieces
        ]
        asked_before = zip((piece.encoded(self.schema_) for piece in pieces), (each for _, each in told), strict=True)
        return cost_of_many(new_rows(asked_before), facts, told[-1][0].quota)

    def asked_before(self, X: Any) -> NDArray[np.bool_]:
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
        asked_before = (self._previewed(piece, asked_before_of) for piece in self._pieces(rows))
        return np.array([each for piece in asked_before for each in piece], dtype=np.bool_)

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
            warnings.warn(message, Exhausted, stacklevel=2)
        return float(np.average(right, weights=by_row))

    @property
    def queries_answered_(self) -> int:
        """Distinct queries that the release has answered, to anybody."""
        return self._facts().spent.queries or 0

    @property
    def unstable_remaining_(self) -> int | None:
        """Unstable answers that may still be given. None: there is no limit."""
        return self._facts().remaining.unstable

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
        spent, remaining, planned = batch.spent, batch.remaining, self._facts_then.planned
        for given in reversed(batch.answers):
            is_beyond = planned is not None and given.kind != "published" and (spent.queries or 0) > planned
            label = given.coin if given.label is None and self._facts_then.on_unstable == "random" else given.label
            found.append((Answer(label, given.kind, spent, remaining, is_beyond), given.coin))
            if given.kind in ("stable", "unstable"):
                unstable = int(given.kind == "unstable")
                spent, remaining = _moved(spent, -1, -unstable), _moved(remaining, 1, unstable, 1 - unstable)
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
        return facts.spent, facts.remaining

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
