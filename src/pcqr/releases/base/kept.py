"""Releases that are kept: moved into a directory, found there again, and copied without their secrets."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from pcqr import registry
from pcqr.checks import check_idle
from pcqr.data.records import Records
from pcqr.data.records.in_memory import kept_records, restored_records
from pcqr.errors import CopyCannotAnswer, DataError, ParameterError, ReleaseError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.committees import Arrays
from pcqr.privacy.entropy import Entropy, SystemEntropy
from pcqr.releases.base.fitting import PrivateEstimator
from pcqr.releases.base.inputs import as_array, plain_name
from pcqr.releases.protocol.log import MemoryLog, NoLabeller, PrivLabel
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.plan import QueryPlan
from pcqr.releases.universal.run import UnvPrivCl

if TYPE_CHECKING:
    from pcqr.durable.directory import Kept, Secret
    from pcqr.durable.facts import Facts
    from pcqr.durable.quotas import QuotaTable


V = TypeVar("V", bound=QueryPlan)
VOTES, RECORDS, PUBLIC = "votes ", "records ", "public"


class KeptRelease(PrivateEstimator[V]):
    """What `fit` has started, and how it is kept. No dataclass: a secret must not be a field among the parameters."""

    _protocol: PrivClass | UnvPrivCl

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        ledger: str | os.PathLike[str] | None = None,
        anchor: str | os.PathLike[str] | None = None,
        key: str | None = None,
        cautious: bool = False,
    ) -> Self:
        """Move the release into a new directory, where it outlives this process (docs/release.md).

        What was answered goes with it, and this object goes on from there: every later answer is on disk before it is
        given. `pcqr.release.open(path)` finds it again.

        Parameters
        ----------
        path : str or path
            A directory that does not exist, or is empty. It will hold secrets: `secret.pcqr`, for the owner alone.
        ledger : str or path, optional
            Where the log of answers is kept, if not in the directory: a file, or the address of a PostgreSQL database.
        anchor : str or path, optional
            Where to keep what was last replied, away from the directory, so that an older copy of it is noticed. By
            default under the user's state directory.
        key : str, optional
            Where the key is that encrypts the secrets: "file:PATH" or "env:NAME".
        cautious : bool, default False
            Write down which queries are going to be decided before they are. Those of a batch that a crash breaks off
            then count as unstable for ever: right where others can stop the process by what they see inside it, or
            read its raw files (docs/release.md). Half as fast; not in PostgreSQL, nor for a universal release that has
            yet to publish.

        Returns
        -------
        PrivateEstimator
            This release.

        Raises
        ------
        ReleaseError
            When there is something at that path, or the release is kept already.
        ParameterError
            When a parameter, such as a hypothesis class of your own, or `Finite` with models of your own, cannot be
            written down. `fit` cannot foresee a `save`: an account that it has charged stays charged.
        LedgerError, SecretError
            When a file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import pcqr
        >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
        >>> release = pcqr.SubsampleAggregate(queries=20, entropy=0).fit(X, X[:, 0] > 6)  # seeded: NOT PRIVATE
        >>> place = tempfile.mkdtemp()
        >>> release.save(place, anchor=tempfile.mkdtemp() + "/anchor").predict([[1.0], [9.0]])
        array([0, 1])
        >>> release.close()
        """
        from pcqr.durable.directory import checked_place, keep  # noqa: PLC0415 - SQLAlchemy takes its time

        self._check_fitted()
        checked_place(path)
        if cautious and isinstance(self._protocol, UnvPrivCl) and self._protocol.published is None:
            raise ParameterError("cautious", "False for a universal release: its draw cannot be announced", cautious)
        with self._protocol.guarded(), self._votes.guarded():
            check_idle(self._protocol, self._votes)  # a signal handler: what is being decided would not go with it
            log = self._votes.log
            if not isinstance(log, MemoryLog):
                raise ReleaseError(str(path), "cannot be made: this release is kept already", "Open that one.")
            if not log.is_original:
                raise CopyCannotAnswer
            facts = self._facts()
            facts.to_json()  # whatever cannot be written is refused before anything is
            self._votes.log = keep(
                path,
                facts,
                self._secret(),
                log,
                self._votes.remaining,
                ledger=ledger,
                anchor=anchor,
                key=key,
                cautious=cautious,
            )
        return self

    def quota_table(self) -> QuotaTable:
        """Who asked what of a kept release: quotas, tokens and past answers (`ask_together`).

        Returns
        -------
        QuotaTable
            Tables beside the ledger's chain. They can be read beside a running writer, too.

        Raises
        ------
        ReleaseError
            When the release is in memory: save it first.
        """
        from pcqr.durable.log import LedgerLog  # noqa: PLC0415
        from pcqr.durable.quotas import QuotaTable  # noqa: PLC0415

        log = self._votes.log
        if not isinstance(log, LedgerLog):
            raise ReleaseError("in memory", "has no quota table", "Save it first: release.save(path).")
        return QuotaTable(log.ledger)

    @np.errstate(all="ignore")
    def warm_up(self) -> None:
        """Load and compile all that an answer needs, so that the first asker need not wait for it. Costs nothing.

        Votes on a made-up point are counted and dropped, and a spare copy of the labeller, which has counters and a
        source of noise of its own, decides made-up votes: nothing is told or kept, so no privacy is spent. The log, the
        counters and the noise of the release itself are not touched.
        """
        labeller: Any = self._votes.labeller
        if not hasattr(labeller, "arrays"):  # published: it has no secrets any more
            return
        votes = labeller.counts(np.zeros((1, self.n_features_in_)))
        spare = self._labeller(labeller.arrays(), self.plan_, SystemEntropy())
        spare.decide(np.zeros_like(votes[0]))

    def close(self) -> None:
        """Let another process open the directory of a kept release. All answers are on disk already."""
        self._votes.log.close()

    def _forget(self) -> None:
        if "_protocol" in vars(self) and hasattr(self, "plan_"):
            self.close()
        super()._forget()

    @property
    def _votes(self) -> PrivClass:
        self._check_fitted()
        return self._protocol.protocol if isinstance(self._protocol, UnvPrivCl) else self._protocol

    def _labeller(self, arrays: Arrays, plan: V, entropy: Entropy) -> PrivLabel:  # noqa: ARG002
        """The votes from the arrays of their secrets. A release that can be kept has this."""
        raise ParameterError("release", "of a kind that can be saved", type(self).__name__)

    def _facts(self) -> Facts:
        from pcqr.durable.facts import Facts  # noqa: PLC0415

        entries = (entry for entry in registry.algorithms() if registry.resolve(entry.estimator) is type(self))
        entry = next(entries, None)
        if entry is None:
            raise ParameterError(
                "release", "an algorithm of the registry (pcqr.registry.register)", type(self).__name__
            )
        names = getattr(self, "feature_names_in_", None)
        return Facts(
            algorithm=entry.name,
            parameters=self.get_params(deep=False),
            plan=self.plan_,
            hypotheses=self.hypotheses_,
            classes=tuple(map(plain_name, self.classes_)),
            records=self.n_records_,
            public=self.n_public_,
            features=self.n_features_in_,
            feature_names=None if names is None else tuple(map(str, names)),
            schema=self.schema_,
            ledger="",
            identity="",
        )

    def _secret(self) -> Secret | None:
        """All that must survive and never be shown; None once nothing of it is needed."""
        from pcqr.durable.directory import Secret  # noqa: PLC0415

        if self._votes.log.published is not None:
            return None
        labeller: Any = self._votes.labeller
        if not hasattr(labeller, "arrays"):
            raise ParameterError("release", "of a kind that can be saved", type(self).__name__)
        document: dict[str, Any] = {}
        arrays = _prefixed(VOTES, labeller.arrays())
        if isinstance(self._protocol, UnvPrivCl):
            records, public = self._protocol.kept()
            if records is None:
                raise CopyCannotAnswer
            document["records"], held = kept_records(records)
            arrays |= _prefixed(RECORDS, held) | ({} if public is None else {PUBLIC: public})
        return Secret(document, arrays)

    @classmethod
    def from_kept(cls, kept: Kept) -> Self:
        """The estimator, fitted, that was saved: `pcqr.release.open` calls this."""
        facts, release = kept.facts, cls(**kept.facts.parameters)
        release.classes_, release.schema_ = as_array(facts.classes), facts.schema
        release.hypotheses_, release.n_records_, release.n_public_ = facts.hypotheses, facts.records, facts.public
        release.n_features_in_ = facts.features
        if facts.feature_names is not None:
            release.feature_names_in_ = as_array(facts.feature_names)
        plan: Any = facts.plan
        release.guarantee_, release.plan_ = kept.guarantee, replace(plan, guarantee=kept.guarantee)
        release._protocol = release._resumed(kept, plan, SystemEntropy())
        return release

    def _resumed(self, kept: Kept, plan: V, entropy: Entropy) -> PrivClass | UnvPrivCl:
        return self._resumed_votes(kept, plan, entropy, plan.queries)

    def _resumed_votes(self, kept: Kept, plan: V, entropy: Entropy, queries: int) -> PrivClass:
        if kept.secret is None:
            labeller: PrivLabel = NoLabeller(kept.log.state.remaining)
        else:
            labeller = self._labeller(_named(VOTES, kept.secret.arrays), plan, entropy)
        return PrivClass(labeller, queries, entropy, kept.log)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has the log and no secrets: two that decide would count one budget twice.

        What was drawn with a seed has no budget to count, and is copied as scikit-learn expects it.
        """
        state: dict[str, Any] = super().__getstate__()
        if "_protocol" in state and (self.guarantee_.is_private or not isinstance(self._votes.log, MemoryLog)):
            state = state | {"_protocol": self._protocol.copied()}
        return state


def for_publication(secret: Secret) -> tuple[Records, Points | None]:
    """The private records and the public points that a universal release keeps until it publishes."""
    records = restored_records(secret.document.get("records", {}), _named(RECORDS, secret.arrays))
    return records, secret.arrays.get(PUBLIC)


def _prefixed(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _named(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays of one part of a secret."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


# ---------------------------------------------------------------------------------------------------------------------
# Transformers for a pipeline before a private estimator: fitted on public rows, then never again.
#
# A scaler, an imputer or an encoder that a pipeline fits on private records looks at all of them, and what it learns is
# in every answer: no ε covers it. No estimator can see what stands before it. So the transformer is fitted here, on
# rows that are free to be shown, and frozen: the pipeline's `fit` leaves it as it is, and so does `sklearn.clone`.


_MOST_TRIED = 64


def fitted_on_public(transformer: Any, public: Any) -> FrozenEstimator:
    """A clone of a transformer, fitted on public rows and frozen: safe before a private estimator in a pipeline.

    **Calling this declares that `public` may be shown**: never pass private records.

    The guarantee of what comes after rests on a second promise, too: `transform` treats every row by itself. It is
    tried out on pairs of public rows, whose first one must come out the same, bit for bit, whatever the second one is;
    a transformer that compares or averages the rows that it is given is refused. That is a test and no proof.

    Parameters
    ----------
    transformer : scikit-learn transformer
        It is cloned, and the clone is fitted.
    public : table or array-like of shape (rows, columns)
        At least 3 public rows.

    Returns
    -------
    sklearn.frozen.FrozenEstimator
        A transformer that neither `fit` nor `clone` changes.

    Raises
    ------
    ParameterError
        When it is no transformer, or what it makes of a row depends on the other rows.
    DataError
        When there are fewer than 3 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pcqr import fitted_on_public
    >>> scaler = fitted_on_public(StandardScaler(), np.array([[0.0], [5.0], [10.0]]))
    >>> scaler.fit([[1000.0]], None).transform([[5.0]])  # what it was fitted on stays
    array([[0.]])
    """
    if not hasattr(transformer, "transform"):
        raise ParameterError(
            "transformer", "a transformer: an object with fit and transform", type(transformer).__name__
        )
    count = len(public)
    if count < 3:
        raise DataError("public", "at least 3 rows, to see that each is transformed by itself", f"{count} rows")
    fitted = clone(transformer).fit(public)
    for row in np.unique(np.linspace(0, count - 1, _MOST_TRIED).astype(int)).tolist():
        others = (row + 1) % count, (row - 1) % count
        first, second = (_first_row(fitted.transform(_rows(public, [row, other]))) for other in others)
        if first is None or first != second:
            raise ParameterError(
                "transformer",
                "one whose transform treats every row by itself; what it makes of a row here depends on the other rows",
                type(transformer).__name__,
            )
    return FrozenEstimator(fitted)


def _rows(table: Any, places: list[int]) -> Any:
    """These rows of a frame or an array, as the same kind of table."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    return table[places] if hasattr(table, "columns") or hasattr(table, "tocsr") else np.asarray(table)[places]


def _first_row(transformed: Any) -> list[str] | None:
    """The first of two rows, cell by cell, as text that is the same for the same bits. None if they are not two."""
    dense = transformed.toarray() if hasattr(transformed, "toarray") else np.asarray(transformed)
    return [repr(cell) for cell in dense[0].tolist()] if dense.shape[0] == 2 else None
