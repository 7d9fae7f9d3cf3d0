"""One teacher out of a scikit-learn classifier: its own part, its own coins, and not a word about how it went."""

from __future__ import annotations

import os
import platform
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain, islice
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.data.records import InMemory, Records
from pcqr.data.records.source import Positions
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis, HypothesisClass, Labels, Points
from pcqr.hypotheses.committees import (
    FIXED_VOTE,
    Arrays,
    Committee,
    Constant,
    IntArray,
    Members,
    TeachesWithCoins,
    group_rows,
    groups,
    joined,
)
from pcqr.hypotheses.descent import NEVER, Planes
from pcqr.hypotheses.trees.committee import TreeCommittee, blank
from pcqr.privacy.entropy import SeededEntropy, seeded_generators
from pcqr.privacy.noise import Chooser
from pcqr.progress import tracked

_COINS, _WORDS, _CACHE = "random_state", "verbose", "memory"


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Hypothesis):
    """A scikit-learn classifier, fitted on one part. **Private.** It has no document: that would be a pickle."""

    model: Any

    def predict(self, X: ArrayLike) -> Labels:
        said: Labels = self.model.predict(X)
        return said


@dataclass(frozen=True)
class Caller:
    """Where training was called from: a worker is this thread itself, another thread of its process, or elsewhere."""

    machine: str
    process: int
    thread: int

    @classmethod
    def here(cls) -> Caller:
        return cls(platform.node(), os.getpid(), threading.get_ident())

    def is_elsewhere(self) -> bool:
        """Is this another process than the caller's?"""
        here = self.here()
        return (here.machine, here.process) != (self.machine, self.process)


def fitted(estimator: Any, X: Points, y: Labels, seed: int, caller: Caller) -> Hypothesis:
    """A clone of `estimator`, fitted on one part with the coins of `seed`: a function of these three alone.

    A part of one label says that label. Whatever is raised becomes the fixed vote, and whatever is warned of is lost:
    either would be an observable function of the records.
    """
    try:
        if (y == y[0]).all():
            return Constant(int(y[0]))
        with np.errstate(all="ignore"), _apart(seed, caller):
            return Fitted(_own(estimator, seed).fit(X, y.astype(np.int64)))
    except Exception:
        return Constant(FIXED_VOTE)


@contextmanager
def silent() -> Iterator[None]:
    """No warnings: how often a teacher does not converge is private."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _own(estimator: Any, seed: int) -> Any:
    """A clone that draws by `seed` wherever a random state can be set, prints nothing and keeps no cache on disk."""
    from sklearn.base import clone  # noqa: PLC0415 - half of the time that the import of this room would take

    copy = clone(estimator)
    own: dict[str, Any] = {}
    for name, value in copy.get_params().items():
        last = name.rpartition("__")[2]
        if last == _COINS:
            own[name] = seed
        elif last == _WORDS and value:
            own[name] = type(value)(0)  # some take truth values alone, some numbers
        elif last == _CACHE:
            own[name] = None
    return copy.set_params(**own)


@contextmanager
def _apart(seed: int, caller: Caller) -> Iterator[None]:
    """What other code draws from global generators is this teacher's own, too, but where threads share them."""
    elsewhere = caller.is_elsewhere()
    generators = seeded_generators(seed) if elsewhere or Caller.here() == caller else nullcontext()
    with generators, silent() if elsewhere else nullcontext():  # filters are the process's: the caller has set them
        yield


# ---------------------------------------------------------------------------------------------------------------------
# A class that only learns: no sampler, no VC dimension. Its members teach on labels as they are, and nothing else.


class OnlyLearns(HypothesisClass):
    """What such classes share: any number of labels, and refusals of all that needs to know the class as a set."""

    several_labels: ClassVar[bool] = True
    only_learns: ClassVar[bool] = True
    dimension: int

    def check_shared(self) -> None:
        """Refuse labels and dimensions outside their ranges."""
        check_integer("dimension", self.dimension, least=1)
        check_integer("labels", self.labels, least=2, most=MOST_LABELS)

    @property
    def estimated_dimension(self) -> int:
        return self.dimension

    @property
    def vc_dimension(self) -> int:
        self._unknown("a VC dimension")

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        self._unknown("a growth function")

    def log_probability_error(
        self,
        records: int,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        self._unknown("a sampler")

    def enumerate(self, X: ArrayLike) -> Labels:  # noqa: ARG002
        self._unknown("a list of its members")

    def _draw(
        self,
        X: Points,  # noqa: ARG002
        y: Labels,  # noqa: ARG002
        inverse_temperature: float,  # noqa: ARG002
        public: Points | None,  # noqa: ARG002
        choose: Chooser,  # noqa: ARG002
    ) -> Hypothesis:
        self._unknown("a sampler")

    def _unknown(self, what: str) -> NoReturn:
        raise ParameterError("hypotheses", f"a class with {what}, such as DecisionTrees()", f"{self}: it only learns")


# ---------------------------------------------------------------------------------------------------------------------
# Any scikit-learn classifier as the class of the teachers.


@dataclass(frozen=True)
class Estimators(OnlyLearns, TeachesWithCoins):
    """Teachers that are clones of a scikit-learn classifier, a pipeline included, trained in parallel by joblib.

    For releases that answer by votes on labels as they are, `SubsampleAggregate` and its peers, which also take the
    classifier itself. Such a class only learns: it cannot be drawn from, so nothing can be relabelled or published with
    it.

    Each teacher sees its own part, and draws with coins of its own: every `random_state` of its clone is set to a
    number that was drawn beforehand, so that nothing depends on who trains when. A teacher whose `fit` or `predict`
    raises casts a fixed vote, and warnings inside teachers are dropped: how many there are is private. A part of one
    label says that label. Linear models and trees of limited depth vote as arrays and can be kept (docs/teachers.md).

    Parameters
    ----------
    estimator : scikit-learn classifier
        What is cloned for each teacher. It is fitted on labels 0, …, C−1.
    dimension : int, default 10
        About how many numbers a teacher learns. Only the planner's estimates use it.
    n_jobs : int or None, default None
        How many teachers are trained at the same time, as joblib has it. None is 1, or what `joblib.parallel_config`
        says, which also chooses the backend.
    labels : int, default 2
        C, the number of classes.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.hypotheses import Estimators
    >>> X = np.random.default_rng(0).normal(size=(5_000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> teachers = Estimators(LogisticRegression(), n_jobs=1)
    >>> names = ("left", "right")
    >>> release = SubsampleAggregate(teachers, epsilon=4.0, queries=20, teachers=99, classes=names, entropy=0)
    >>> release.fit(X, y).predict([[2.0, -1.0], [-1.0, 2.0]])  # seeded: NOT PRIVATE
    array(['right', 'left'], dtype='<U5')
    """

    estimator: Any
    dimension: int = 10
    n_jobs: int | None = None
    labels: int = 2

    def __post_init__(self) -> None:
        from sklearn.base import clone, is_classifier  # noqa: PLC0415 - it takes its time to load

        if not is_estimator(self.estimator) or not is_classifier(self.estimator):
            raise ParameterError("estimator", "a scikit-learn classifier", self.estimator)
        object.__setattr__(self, "estimator", clone(self.estimator))
        self.check_shared()

    def with_labels(self, labels: int) -> Estimators:
        return replace(self, labels=labels)

    def check_work(self, parts: Sequence[tuple[int, int]], features: int) -> None:
        """Try the classifier on made-up records: on private ones nobody would hear why all teachers fail."""
        from sklearn.base import clone  # noqa: PLC0415

        for records in {records for records, _ in parts if records > 1}:
            X = SeededEntropy(0).below(1 << 20, records * features).reshape(records, features) / (1 << 20)
            try:
                with silent(), np.errstate(all="ignore"):
                    clone(self.estimator).fit(X, np.arange(records) % self.labels).predict(X)
            except Exception as error:
                raise ParameterError(
                    "hypotheses",
                    f"a classifier that learns from {records:,} records of {features:,} columns and {self.labels} "
                    "labels, as made-up ones were",
                    f"{self.estimator}, which raises {type(error).__name__}: {error}",
                ) from error

    def learn(self, X: ArrayLike, y: ArrayLike) -> Hypothesis:
        """What one teacher is on (X, y), with the coins of seed 0."""
        points, labels = self.check_records(X, y)
        with silent():
            return fitted(self.estimator, points, labels, 0, Caller.here())

    def teach(self, records: Records, parts: Sequence[Positions], seeds: IntArray) -> Committee:
        import joblib  # noqa: PLC0415

        caller, members = Caller.here(), list[Hypothesis]()
        together, coins = list(groups(parts, group_rows(records))), iter(seeds.tolist())
        if records.is_elsewhere:
            whole, ends = joined(together)
            own = [(those, list(islice(coins, those.size))) for those in ends]
            taught = records.taught(partial(_fitted_there, self.estimator, caller), whole, own)
            return self._committee(tuple(chain.from_iterable(taught)), records)
        # No `max_nbytes`: larger arrays would be written to a file, where workers find them. They are private.
        with silent(), joblib.Parallel(n_jobs=self.n_jobs, max_nbytes=None) as parallel:
            for group in tracked("teachers", together):
                held = (records.part(part) for part in group)
                members += parallel(
                    joblib.delayed(fitted)(self.estimator, part.X, part.y, seed, caller)
                    for part, seed in zip(held, coins)  # noqa: B905 - one of `coins` for each part of all groups
                )
        return self._committee(members, records)

    def _committee(self, members: Sequence[Hypothesis], records: Records) -> Committee:
        if has_arrays(self.estimator):
            return as_committee(self.estimator, members, self.labels, records.width)
        return EstimatorMembers(members, self.labels, self.estimator)


def _fitted_there(estimator: Any, caller: Caller, held: InMemory, own: tuple[IntArray, list[int]]) -> list[Hypothesis]:
    """Fit the teachers of one worker, one after the other. `own` holds the end of each teacher's part, and its seed."""
    ends, seeds = own
    pieces = zip(np.split(held.X, ends[:-1]), np.split(held.y, ends[:-1]), seeds, strict=True)
    with silent():
        return [fitted(estimator, X, y, seed, caller) for X, y, seed in pieces]


class EstimatorMembers(Members):
    """Fitted classifiers, asked in turn."""

    def __init__(self, members: Sequence[Hypothesis], labels: int, estimator: Any) -> None:
        super().__init__(members, labels)
        self._estimator = estimator

    @np.errstate(all="ignore")
    def counts(self, X: Points) -> IntArray:
        with silent():
            return super().counts(X)

    def arrays(self) -> Arrays:
        raise cannot_be_kept(self._estimator)


def is_estimator(value: object) -> bool:
    """Is it an object, not a class, that scikit-learn can clone and fit?"""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("fit", "predict", "get_params"))


# ---------------------------------------------------------------------------------------------------------------------
# Classifiers of scikit-learn that are linear, or small trees, as arrays: they vote by these, and need no pickles.
#
# Whether a classifier is one of them is seen before it is fitted, so it is public.


DEEPEST = 8
_LINEAR = {
    "LogisticRegression": "sklearn.linear_model",
    "RidgeClassifier": "sklearn.linear_model",
    "SGDClassifier": "sklearn.linear_model",
    "Perceptron": "sklearn.linear_model",
    "LinearSVC": "sklearn.svm",
    "LinearDiscriminantAnalysis": "sklearn.discriminant_analysis",
}
_TREES = {"DecisionTreeClassifier": "sklearn.tree", "ExtraTreeClassifier": "sklearn.tree"}
_SCALER = {"StandardScaler": "sklearn.preprocessing"}
_PIPELINE = {"Pipeline": "sklearn.pipeline"}


def has_arrays(estimator: Any) -> bool:
    """Is it linear, perhaps behind a `StandardScaler`, or a tree of limited depth? A subclass may vote otherwise."""
    *before, last = _steps(estimator)
    if _is_one_of(_TREES, last):
        return not before and last.max_depth is not None and last.max_depth <= DEEPEST
    return _is_one_of(_LINEAR, last) and len(before) < 2 and all(_is_one_of(_SCALER, step) for step in before)


def as_committee(estimator: Any, members: Sequence[Hypothesis], labels: int, features: int) -> Committee:
    """Clones of a known `estimator`, fitted, as arrays. What cannot be written down is the fixed vote."""
    if _is_one_of(_TREES, estimator):
        trees = blank(len(members), int(estimator.max_depth))
        for row, member in enumerate(members):
            _attempt(_write_tree, [array[row] for array in trees.values()], member)
        return TreeCommittee(trees["columns"], trees["cuts"], trees["leaves"], features, labels)
    rows = 1 if labels == 2 else labels
    weights, biases = np.zeros((len(members), rows, features)), np.zeros((len(members), rows))
    for row, member in enumerate(members):
        _attempt(_write_plane, [weights[row], biases[row]], member)
    return Planes(weights, biases)


def _attempt(write: Callable[..., None], arrays: Sequence[NDArray[Any]], member: Hypothesis) -> None:
    """`write` a member to its rows of the arrays. Nothing should fail there; should it ever, that is the fixed vote."""
    try:
        write(*arrays, member)
    except Exception:
        for array in arrays:
            array[...] = 0


def _write_plane(weights: NDArray[Any], biases: NDArray[Any], member: Hypothesis) -> None:
    if isinstance(member, Constant):
        biases[0 if biases.size == 1 else member.label] = 2.0 * member.label - 1.0 if biases.size == 1 else 1.0
    elif isinstance(member, Fitted):
        *before, last = _steps(member.model)
        gradients, shifts = np.array(last.coef_, dtype=np.float64), np.array(last.intercept_, dtype=np.float64)
        for scaler in before:
            gradients = gradients if scaler.scale_ is None else gradients / scaler.scale_
            shifts = shifts if scaler.mean_ is None or not scaler.with_mean else shifts - gradients @ scaler.mean_
        if not (np.isfinite(gradients).all() and np.isfinite(shifts).all()):
            return
        if biases.size > 1:
            biases[:] = NEVER
            biases[last.classes_] = 0.0
        places = [0] if biases.size == 1 else last.classes_[-gradients.shape[0] :]
        weights[places], biases[places] = gradients, shifts


def _write_tree(columns: NDArray[Any], cuts: NDArray[Any], leaves: NDArray[Any], member: Hypothesis) -> None:
    inner = columns.size
    if isinstance(member, Constant):
        leaves[:] = member.label
    elif isinstance(member, Fitted):
        grown, labels = member.model.tree_, member.model.classes_
        places = [(0, 0)]
        while places:
            node, place = places.pop()
            if grown.children_left[node] >= 0:
                columns[place], cuts[place] = grown.feature[node], grown.threshold[node]
                places += [(grown.children_left[node], 2 * place + 1), (grown.children_right[node], 2 * place + 2)]
            else:
                first = last = place
                while first < inner:
                    first, last = 2 * first + 1, 2 * last + 2
                leaves[first - inner : last - inner + 1] = labels[grown.value[node, 0].argmax()]


def written(estimator: Any) -> dict[str, Any]:
    """A known classifier that is not fitted, as JSON has it: its name, and the parameters that are not the defaults."""
    if not has_arrays(estimator):
        raise cannot_be_kept(estimator)
    if _is_one_of(_PIPELINE, estimator):
        return {"estimator": "Pipeline", "steps": [[name, _described(step)] for name, step in estimator.steps]}
    return _described(estimator)


def restored(described: dict[str, Any]) -> Any:
    """What was `written`; a `ParameterError` for anything else."""
    try:
        name, types = described["estimator"], _LINEAR | _TREES | _SCALER | _PIPELINE
        kind = getattr(import_module(types[name]), name)
        if name in _PIPELINE:
            return kind([(called, restored(step)) for called, step in described["steps"]])
        return kind(**described["parameters"])
    except (KeyError, TypeError, ValueError):
        raise ParameterError("estimator", "a classifier that pcqr keeps", "another") from None


def cannot_be_kept(estimator: Any) -> ParameterError:
    """The refusal to write it down."""
    return ParameterError(
        "hypotheses",
        f"LogisticTeachers(), TreeTeachers(), {', '.join(_LINEAR)} (perhaps behind a "
        f"StandardScaler), or a tree of max_depth ≤ {DEEPEST}, with plain parameters, for a release that is kept: "
        "others would be kept as pickles, which run whatever is in them when they are read",
        type(estimator).__name__,
    )


def _described(estimator: Any) -> dict[str, Any]:
    plain = _changed(estimator)
    if not all(isinstance(value, bool | int | float | str | None) for value in plain.values()):
        raise cannot_be_kept(estimator)
    return {"estimator": type(estimator).__name__, "parameters": plain}


def _changed(estimator: Any) -> dict[str, Any]:
    """Its parameters that are not the defaults, which another version of scikit-learn may have changed or left out."""
    defaults = type(estimator)().get_params(deep=False)
    return {name: value for name, value in estimator.get_params(deep=False).items() if value is not defaults[name]}


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if _is_one_of(_PIPELINE, estimator) else [estimator]


def _is_one_of(types: Mapping[str, str], estimator: Any) -> bool:
    """Is it of exactly such a type? scikit-learn's modules take their time, and are loaded when a name fits."""
    name = type(estimator).__name__
    return name in types and type(estimator) is getattr(import_module(types[name]), name)
