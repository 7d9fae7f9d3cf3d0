"""One private classifier for tables: publishes a tree or a linear classifier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from math import ceil
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from pcqr.algorithms.published import Maps, publish
from pcqr.checks import check_delta
from pcqr.entropy import Entropy
from pcqr.errors import InfeasiblePlan, NoGpu, ParameterError
from pcqr.estimators.given import Given, Known
from pcqr.estimators.persons import Hearing
from pcqr.estimators.published import PublishedEstimator
from pcqr.gpu.device import DeviceChoice, Found, find_gpu
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.plan import Budget, PublishedPlan
from pcqr.planning import Request
from pcqr.planning.classifiers.dense import FeatureChoice, dense_features, is_dense
from pcqr.planning.classifiers.linear import linear_predicates, stand_ins_for
from pcqr.planning.classifiers.published import feature_maps, plan_published
from pcqr.planning.classifiers.recipes import rarest_for
from pcqr.planning.classifiers.rule import FEWEST, Choice, Method, choose, trees_for
from pcqr.planning.expected.shortfall import nothing_learned
from pcqr.records.on_device import OnDevice
from pcqr.records.predicates import Predicate, Predicates
from pcqr.release.account import AccountLike
from pcqr.schema import Schema
from pcqr.schema.stand_in import has_cuts, stand_in_rows

POWERS = (-100.0, -10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0)
"""Where a column is cut of which nothing is known."""
_MOST_DECLARED = 130
MADE_PUBLICLY = "whatever made the columns of X, such as an encoder or a step of a pipeline, one record at a time"
CENTRED = "the centre 0 and one unit, as some encoders give them, and are cut at 16 of it"


@dataclass(frozen=True)
class DryRun:
    """What a `fit` would do, and make its classifier of. From public things alone.

    `maps` are the feature maps of the linear classifiers. There are none where a tree is published. `shortfall` says
    why nothing can be learned, if nothing can.
    """

    plan: PublishedPlan
    hypotheses: HypothesisClass
    maps: Maps
    shortfall: str | None = None


@dataclass(eq=False, repr=False)
class PrivateClassifier(PublishedEstimator[PublishedPlan]):
    """A classifier that is (ε, δ)-differentially private as a whole: publish it, apply it for ever.

    All predicates are made of public rows or of a declared schema: `fit(X, y, public=…)` or `fit(X, y, schema=…)`.
    With neither, columns are cut at `POWERS`, which suit no table: `fit` warns, and `guarantee_.assumptions` says so.

    Parameters
    ----------
    epsilon : float, default 1.0
        ε, the whole of the privacy loss, charged at `fit`.
    delta : float, default 1e-6
        δ of the same promise. A tree alone is pure and spends none: 0 is allowed with method="tree".
    method : {"auto", "tree", "linear"}, default "auto"
        "tree": one exact draw over all trees of a depth, and noisy counts at its leaves, for probabilities. "linear":
        DP gradient descent [1]_ [2]_ over public predicates and, from n·ε = 30,000 on, random ferns; from 150,000 on
        two pilots choose how many. Below 8,000 the weights are those of empirical Bayes, by two noisy sums and the
        public rows. "auto": a tree below n·ε = 3,000; from there on a linear classifier beside a tree, whose label is
        one more column of it; where features are dense, a linear classifier. All of it is paid for out of ε
        (`pcqr.planning.classifiers.rule`).
    features : {"auto", "predicates", "dense"}, default "auto"
        What a linear classifier reads. "predicates": public predicates, which suit tables of numbers and categories.
        "dense": the columns themselves, as an encoder of images or text made them; they are scaled by the public rows
        and seen through their principal directions, at most 300 and at most a quarter of the public rows, or scaled
        by the bounds of the schema. "auto": dense where there are more than 100 columns (and at most 65,535), all of
        them numbers, and neither `trees` nor a `method` says otherwise. What made the columns must be public, and make
        each row by itself: `guarantee_.assumptions` says so.
    trees : DecisionTrees or None, default None
        Where the public predicates come from, and the depth of one tree. A linear classifier has more predicates of its
        own, unless these are declared. None: those of `pcqr.planning.classifiers.rule.trees_for`.
    entropy : Entropy, int or None, default None
        Where the randomness comes from: None is the operating system. An integer seeds a test, which is **not
        private**.
    classes : sequence of labels or None, default None
        The label names, in order; more than two for trees and linear classifiers. None: 0 and 1; other names are
        then read from y, and `guarantee_.assumptions` says that they were treated as public.
    account : Account, str, path or None, default None
        The account of the private table (`pcqr.release.Account`), its name or its path: `fit` charges it before
        anything is drawn, and refuses what does not fit. None: nothing is remembered.
    device : {"cpu", "cuda", "auto"}, default "cpu"
        Where counts and sums are made. The result is the same, to the last bit. "cuda": on a GPU, by the extra `gpu`;
        where there is none, and for persons, on the CPU, and `fit` says so. "auto": on a GPU if there is one.

    Attributes
    ----------
    hypothesis_ : Hypothesis
        The published classifier, free to be shown; `pcqr.models.PublishedModel.from_learner` makes files of it.
    method_ : {"tree", "linear"}
        Which kind it is.
    guarantee_ : Guarantee
        What is promised.
    plan_ : PublishedPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : DecisionTrees
        The public predicates that were used.
    n_features_in_ : int
        p, the columns of the table once it is encoded.
    n_records_, n_public_ : int
        n, and the number of public rows; None without any.

    See Also
    --------
    SemiPrivateLearner : pure ε for any class of `pcqr.hypotheses`.
    UniversalRelease : answers first, and publishes later.

    References
    ----------
    .. [1] S. Song, K. Chaudhuri, A. Sarwate. Stochastic gradient descent with differentially private updates.
       GlobalSIP 2013.
    .. [2] R. Bassily, A. Smith, A. Thakurta. Private empirical risk minimization: efficient algorithms and tight error
       bounds. FOCS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateClassifier
    >>> from pcqr.hypotheses import DecisionTrees
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(5_000, 2)), rng.normal(size=(200, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> shallow = DecisionTrees(depth=2)
    >>> classifier = PrivateClassifier(epsilon=1.0, method="tree", trees=shallow, entropy=0)  # seeded: NOT PRIVATE
    >>> classifier = classifier.fit(X, y, public=public)
    >>> classifier.predict([[2.0, 0.0], [-2.0, 0.0]])
    array([1, 0])
    >>> classifier.method_, classifier.guarantee_.is_pure, classifier.guarantee_.within(1.0, 0.0)
    ('tree', True, True)
    >>> (classifier.predict_proba([[2.0, 0.0], [-2.0, 0.0]]).argmax(axis=1) == [1, 0]).all()
    np.True_
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    method: Choice = "auto"
    features: FeatureChoice = "auto"
    trees: DecisionTrees | None = None
    entropy: Entropy | int | None = None
    classes: Sequence[Any] | None = None
    account: AccountLike | None = None
    device: DeviceChoice = "cpu"

    def dry_run(
        self, records: int, public: Any = None, schema: Schema | None = None, *, persons: bool = False
    ) -> DryRun:
        """Return what `fit` would do, as `plan` does, with what it would be made of. Nothing is spent."""
        hypotheses, plan, known = self._planned(records, None, public, schema, persons=persons)
        return DryRun(plan, hypotheses, known.maps, self._shortfall(hypotheses, known))

    @property
    def method_(self) -> Method:
        """Which kind of classifier was published."""
        check_is_fitted(self, "plan_")
        return "linear" if isinstance(self.hypothesis_, LinearClassifier) else "tree"

    @np.errstate(all="ignore")
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far, and to which side, each row of `X` is from the boundary: positive for the second class.

        Margins of a linear classifier, log-odds of a tree. With more than two classes there is one column for each, of
        margins or of log-probabilities, and the largest decides.
        """
        check_is_fitted(self, "plan_")
        return self._scored.decision_function(self._table(X, self.schema_))

    @np.errstate(all="ignore")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability of each class for each row of `X`: `predict` gives the class with the largest.

        Post-processing of what was published, which costs nothing. Those of a linear classifier are a function of its
        margins. Those of a tree are the shares of the labels in the leaf, by noisy counts, drawn towards the shares of
        the whole table, where the leaf's label is always ahead.
        """
        check_is_fitted(self, "plan_")
        return self._scored.predict_proba(self._table(X, self.schema_))

    @np.errstate(all="ignore")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithms of `predict_proba`."""
        logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    @property
    def _scored(self) -> LinearClassifier | DecisionTree:
        if not isinstance(self.hypothesis_, LinearClassifier | DecisionTree):
            raise AssertionError("A tree with shares or a linear classifier is published.")
        return self.hypothesis_

    def _takes_several_labels(self) -> bool:
        return True

    def _class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        return DecisionTrees() if self.trees is None else self.trees

    def _hears(self, hypotheses: HypothesisClass) -> Hearing:  # noqa: ARG002
        return "weights"

    def _is_uninformed(self, known: Known) -> bool:
        return known.is_nothing and (self.trees is None or not self.trees.is_fixed)

    def _guess(self, known: Known) -> str:
        return CENTRED if self._is_dense(known) else super()._guess(known)

    def _assumed(self, known: Known) -> tuple[str, ...]:
        return (MADE_PUBLICLY,) if self._is_dense(known) else ()

    def _is_dense(self, known: Known) -> bool:
        """Are the columns themselves the features? Decided by public things."""
        if self.features != "auto":
            return self.features == "dense"
        return self.method != "tree" and self.trees is None and is_dense(known.features, known.schema, known.points)

    def _prepared(self, hypotheses: HypothesisClass, known: Known) -> HypothesisClass:
        if self._is_dense(known):
            return hypotheses  # no predicates are asked
        chosen = choose(known.records, self.epsilon, self.method)
        trees = trees_for(known.records, chosen.tree_share * self.epsilon) if self.trees is None else self.trees
        if self._is_uninformed(known):
            cuts = POWERS if known.features * len(POWERS) <= _MOST_DECLARED else (0.0,)
            trees = replace(trees, predicates=tuple(Predicate(j, cut) for j in range(known.features) for cut in cuts))
        elif not chosen.has_tree and not trees.is_fixed:
            trees = replace(trees, predicates=self._linear_predicates(known) or None)
        return super()._prepared(trees, known)

    def _linear_predicates(self, known: Known) -> Predicates:
        """More than trees can afford."""
        return linear_predicates(rarest_for(known.records, self.epsilon), known.records, known.points, known.schema)

    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        if self.delta == 0 and self.method != "tree":
            raise ParameterError("delta", "above 0, or 0 with method='tree', which alone is pure", self.delta)
        if self.delta != 0:
            check_delta(self.delta)
        if self.device not in get_args(DeviceChoice):
            raise ParameterError("device", f"one of {', '.join(map(repr, get_args(DeviceChoice)))}", self.device)
        if self.features not in get_args(FeatureChoice):
            raise ParameterError("features", f"one of {', '.join(map(repr, get_args(FeatureChoice)))}", self.features)
        if self.features == "dense" and (self.method == "tree" or self.trees is not None):
            raise ParameterError("features", "'auto' or 'predicates' for trees", "dense")
        budget = Budget(self.epsilon, self.delta)
        return Request(records=records, features=features, hypotheses=hypotheses, budget=budget, public=public)

    def _with_maps(self, hypotheses: HypothesisClass, known: Known) -> Known:
        if self._is_dense(known):
            return replace(known, maps={"dense": dense_features(known.features, known.points, known.schema)})
        trees = hypotheses
        if not isinstance(trees, DecisionTrees) or trees.predicates is None:
            raise ParameterError("public", "public rows or a schema", None)
        chosen = choose(known.records, self.epsilon, self.method)
        if not chosen.maps:
            return known
        is_declared = self._is_uninformed(known) or (self.trees is not None and self.trees.is_fixed)
        predicates = trees.predicates if is_declared else self._linear_predicates(known)
        if known.points is None and known.schema is not None and has_cuts(known.schema):
            known = replace(known, stand_in=stand_in_rows(known.schema, stand_ins_for(len(predicates))))
        maps = feature_maps(
            chosen,
            known.records,
            self.epsilon,
            trees.labels,
            predicates,
            known.features,
            known.rows,
            known.schema,
        )
        return replace(known, maps=maps)

    def _make_plan(self, request: Request, known: Known) -> PublishedPlan:
        if request.records * self.epsilon < FEWEST:
            raise InfeasiblePlan(
                f"With n = {request.records:,} and ε = {self.epsilon:g} a published classifier would be noise: n·ε is "
                f"below {FEWEST}.",
                f"n ≥ {ceil(FEWEST / self.epsilon):,} at this ε, or ε ≥ {FEWEST / request.records:.2g} at this n",
            )
        return plan_published(request, self.method, known.maps, public=known.rows)

    def _shortfall(self, hypotheses: HypothesisClass, known: Known) -> str | None:
        if not isinstance(hypotheses, DecisionTrees):
            return None
        dense = known.maps.get("dense")
        asked = len(hypotheses.predicates or ()) if dense is None else dense.size
        return nothing_learned(known.records, self.epsilon, asked, hypotheses.labels)

    def _find_gpu(self, *, persons: bool) -> str | None:
        found = Found(None, "the rows of persons are weighed on the CPU")
        if not persons and self.device != "cpu":
            found = find_gpu()
        if found.name is None and self.device == "cuda":
            warnings.warn(
                f"No GPU is used: {found.why_not}. The CPU computes the same, to the last bit.",
                NoGpu,
                stacklevel=4,  # errstate and fit stand between
            )
        return found.name

    def _check_room(self, given: Given) -> None:
        if given.gpu is None:
            given.records.check_room(tuple(given.known.maps.values()))

    def _start(self, hypotheses: HypothesisClass, given: Given, plan: PublishedPlan, entropy: Entropy) -> None:
        records = given.records if given.gpu is None else OnDevice(given.records, given.gpu)
        known = given.known
        self.hypothesis_ = publish(plan.stage, hypotheses, records, entropy, maps=known.maps, public=known.rows)
