"""One private classifier for tables: publishes a tree or a linear classifier."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pcqr.checks import check_delta, check_positive
from pcqr.data.records import Encoded, GroupedRecords, ParquetTable, Records
from pcqr.data.records.in_memory import RawRecords, plain_columns
from pcqr.data.records.on_device import OnDevice
from pcqr.data.records.parted.source import Parted, RawParted
from pcqr.data.records.predicates import Predicates
from pcqr.data.records.user_level import WHOLE, ByLabel, WeighedRows, weighed
from pcqr.data.schema import Schema
from pcqr.data.schema.cells import listed
from pcqr.data.schema.raw import (
    TYPES_ARE_PUBLIC,
    RawInMemory,
    RawKind,
    RawTable,
    cut_further,
    has_cuts,
    stand_in_rows,
)
from pcqr.durable.account import AccountLike
from pcqr.errors import InfeasiblePlan, NoGpu, ParameterError
from pcqr.gpu import DeviceChoice, Found, find_gpu
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.hypotheses.trees.tree import from_schema, predicates_of_schema
from pcqr.planner.expectation import nothing_learned
from pcqr.planner.request import Request
from pcqr.privacy.composition import Sequence as Stages
from pcqr.privacy.entropy import Entropy
from pcqr.releases.base.contributions import (
    ClassWeight,
    ContributionBound,
    check_class_weight,
    declared_weights,
    in_words,
    row_shares,
    weights_of,
)
from pcqr.releases.base.fitting import PublishedEstimator, run_fit
from pcqr.releases.base.inputs import AssumePublic, FitContext, FitInputs, PublicInfo, no_weights_in_parts
from pcqr.releases.classifier.feature_maps import (
    FeatureChoice,
    dense_features,
    is_dense,
    linear_predicates,
    most_linear,
    stand_ins_for,
)
from pcqr.releases.classifier.plan import PredicatesStage
from pcqr.releases.classifier.planning import feature_maps, plan_published
from pcqr.releases.classifier.predicates import (
    MOST_ON_GRID,
    SAFE_FROM,
    Purchase,
    grid_schema,
    predicates_recipe,
    private_schema,
    widest_schema,
)
from pcqr.releases.classifier.rule import FEWEST, Choice, Construction, Method, choose, rarest_for, trees_for
from pcqr.releases.classifier.run import Maps, has_rows_for, publish_weighed
from pcqr.releases.protocol.plan import Budget
from pcqr.releases.semi_private.plan import PublishedPlan

ON_A_GRID = "cuts at powers of √2, which suit no table in particular"
_DEEPEST_ON_GRID, _MOST_AT_DEPTH_3 = 3, 550
MADE_PUBLICLY = "whatever made the columns of X, such as an encoder or a step of a pipeline, one record at a time"
_ADVICE = "Give some `public` rows, of which 30 will do, or a `schema`."
CENTRED = "the centre 0 and one unit, as some encoders give them, and are cut at 16 of it"


@dataclass(frozen=True)
class DryRun:
    """What a `fit` would do, and make its classifier of. From public things alone.

    `maps` are the feature maps of the linear classifiers. There are none where a tree is published. `shortfall` says
    why nothing can be learned, if nothing can. `schema` is how columns are read, the widest that may be bought.
    """

    plan: PublishedPlan
    hypotheses: HypothesisClass
    maps: Maps
    shortfall: str | None = None
    schema: Schema | None = None


@dataclass(eq=False, repr=False)
class PrivateClassifier(PublishedEstimator[PublishedPlan]):
    """A classifier that is (ε, δ)-differentially private as a whole: publish it, apply it for ever.

    Nothing has to be public but the columns and their kinds: a share of the budget then buys where numbers are cut and
    which categories texts have. Where n·ε is too small for that, numbers are cut on a public grid: `fit` warns. With
    public rows, `fit(X, y, public=…)`, or a schema, `fit(X, y, schema=…)`, predicates cost nothing. 30 rows are nearly
    as good as 2,000.

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
        public rows. "auto": a tree below n·ε = 3,000, or 2,000 where two labels are "balanced" and there are public
        rows; from there on a linear classifier beside a tree, whose label is one more column of it; where features are
        dense, a linear classifier. All of it is paid for out of ε (`pcqr.releases.classifier.rule`).
    features : {"auto", "predicates", "dense"}, default "auto"
        What a linear classifier reads. "predicates": public predicates, which suit tables of numbers and categories.
        "dense": the columns themselves, as an encoder of images or text made them; they are scaled by the public rows
        and seen through their principal directions, at most 300 and at most a quarter of the public rows, or scaled
        by the bounds of the schema. "auto": dense where there are more than 100 columns (and at most 65,535), all of
        them numbers, and neither `trees` nor a `method` says otherwise. What made the columns must be public, and make
        each row by itself: `guarantee_.assumptions` says so.
    trees : DecisionTrees or None, default None
        Where the public predicates come from, and the depth of one tree. A linear classifier has more predicates of its
        own, unless these are declared. None: those of `pcqr.releases.classifier.rule.trees_for`.
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
        where there is none, for persons and with weights, on the CPU, and `fit` says so. "auto": on a GPU if there is
        one.
    class_weight : {"balanced"}, mapping or None, default None
        What a record of each label counts. A mapping from labels to positive numbers, declared, of which the largest
        becomes 1; labels that it does not name have 1. "balanced": weights inverse to noisy counts of the labels, which
        have a tenth of ε. Weights are rounded to 64ths, and the least is 1/64. Labels and probabilities then speak
        of weighted records (`pcqr.models.with_prior` undoes it).
    weight_bound : float, default 1.0
        The largest `sample_weight` that counts as given; `fit` cuts larger ones to it. A record of this weight counts
        as one record. Public: do not choose it by the private records.
    types : mapping of str to {"numeric", "categorical", "date", "boolean"} or None, default None
        The kinds of columns, where nothing else is public. A kind must not be read off private cells, so each column
        that a frame has no type for needs one. None: those of the types of the frame, or numbers in an array.

    Attributes
    ----------
    hypothesis_ : Hypothesis
        The published classifier, free to be shown; `pcqr.models.PublishedModel.from_learner` makes files of it.
    method_ : {"tree", "linear"}
        Which kind it is.
    class_weight_ : dict
        What a record of each label counted. It is public: declared, or paid for.
    guarantee_ : Guarantee
        What is promised.
    plan_ : PublishedPlan
        What was decided from public numbers.
    classes_ : ndarray
        The label names.
    hypotheses_ : DecisionTrees
        The predicates that were used.
    schema_ : Schema or None
        How the columns are read: as declared, as the public rows say, or as bought, with `cuts` and `shares`. None for
        a table of numbers without it.
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
    class_weight: ClassWeight = None
    weight_bound: float = 1.0
    types: Mapping[str, RawKind] | None = None

    plans_without_public: ClassVar[bool] = True
    contribution_bound: ClassVar[ContributionBound] = "weights"

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        public: Any = None,
        schema: Schema | AssumePublic | None = None,
        groups: Any = None,
        verbose: bool = False,
        sample_weight: Any = None,
    ) -> Self:
        """Charge ε and δ whole, and publish the classifier. Each `fit` is a new release, charged anew.

        Everything is checked before any noise is drawn, and an account is charged in between: a fit that is refused
        costs nothing, and one that fails after that is not refunded.

        Parameters
        ----------
        X, y, public, schema, groups, verbose : see `pcqr.SubsampleAggregate.fit`
            The private records and their labels, what is public, and whose each row is.
        sample_weight : array-like of shape (n,) or None, default None
            What each row counts, at least 0: cut to `weight_bound` and divided by it. It is part of the record, and as
            private; only that there are weights is public. Not all are 0. With `groups` each row counts that share of
            what it counts otherwise. Not for tables in parts.

        Returns
        -------
        PrivateClassifier
            This estimator.

        Raises
        ------
        ParameterError
            When a parameter of the estimator is not allowed. Parameters are judged before data.
        DataError
            When records, labels, weights, ids of persons or public rows cannot be used.
        InfeasiblePlan
            When no plan keeps to ε and δ with so few records.
        AccountExhausted
            When the account has no room for the release. Nothing was drawn or charged then.

        Warns
        -----
        WeakGuarantee
            When ε or δ is so large that the guarantee says little.
        NothingLearned
            When n·ε is so small that no more than the most common label can be expected.
        """
        if self.class_weight is not None and isinstance(X, ParquetTable | Parted):
            raise no_weights_in_parts("class_weight")
        with np.errstate(all="ignore"):  # whether a float underflows depends on the records
            shares = partial(row_shares, sample_weight, self.weight_bound)
            run_fit(self, X, y, public, schema, groups, verbose, shares)
        return self

    def dry_run(
        self,
        records: int,
        public: Any = None,
        schema: Schema | None = None,
        *,
        user_level: bool = False,
        weights: bool = False,
    ) -> DryRun:
        """Return what `fit` would do, as `plan` does, with what it would be made of. Nothing is spent.

        `user_level`: is n a number of persons? `weights`: will `fit` get a `sample_weight`?
        """
        context, plan = self._planned(records, None, public, schema, user_level=user_level, weights=weights)
        return DryRun(plan, context.hypotheses, context.public.maps, context.shortfall, context.public.schema)

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
        the whole table, where the leaf's label is always ahead. With `class_weight` or `sample_weight` they are about
        weighted records (`pcqr.models.with_prior`).
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

    def _default_class(self, *, has_public: bool, has_schema: bool) -> HypothesisClass:  # noqa: ARG002
        return DecisionTrees() if self.trees is None else self.trees

    def _is_dense(self, public: PublicInfo) -> bool:
        """Are the columns themselves the features? Decided by public things."""
        if self.features != "auto":
            return self.features == "dense"
        return self.method != "tree" and self.trees is None and is_dense(public.features, public.schema, public.points)

    def _prepare_class(self, context: FitContext) -> None:
        """Fix the predicates of trees. Where nothing is public, plan to buy cuts or take those of a public grid."""
        if context.public.is_nothing and context.has_column_names and not self._is_declared:
            context.assumptions += (TYPES_ARE_PUBLIC,)
        self._suppose_columns(context)
        public = context.public
        if self._is_dense(public):
            context.assumptions = (MADE_PUBLICLY, *context.assumptions)
            return  # no predicates are asked
        chosen = self._chosen(public, context.hypotheses.labels if self.classes is None else len(self.classes))
        trees = trees_for(public.records, chosen.tree_share * self.epsilon) if self.trees is None else self.trees
        if public.columns and public.recipe is None and self.trees is None:
            trees = on_grid(trees, public.schema)
        if not chosen.has_tree and not trees.is_fixed:
            trees = replace(trees, predicates=self._linear_predicates(public) or None)
        elif public.recipe is not None and public.schema is not None:
            trees = replace(trees, predicates=from_schema(public.schema, 1)[: trees.most])
        context.hypotheses = trees
        super()._prepare_class(context)

    def _suppose_columns(self, context: FitContext) -> None:
        """Put the public grid, or the widest schema that may be bought, in the place of public things."""
        public = context.public
        if not (public.is_nothing or public.columns) or self._is_declared:
            return
        if self._is_dense(public):
            if public.is_nothing:
                context.assume_of_columns(CENTRED)
            return
        columns, has_names = public.columns or plain_columns(public.features), bool(public.columns)
        kinds = {column.kind for column in columns}
        recipe = None
        if self.delta > 0:
            recipe = predicates_recipe(public.records, self.epsilon, has_texts="categorical" in kinds)
        if recipe is None:
            schema = grid_schema(columns, gaps=has_names)
            context.public = replace(public, schema=schema, columns=columns)
            context.assumptions = (ON_A_GRID, *context.assumptions)
            texts = [column.name for column in columns if column.kind == "categorical"]
            left_out = f" What the texts of {listed(texts)} say is not used." if texts else ""
            why = "n·ε is too small to buy cuts" if self.delta else "δ = 0 buys no cuts"
            context.uninformed = (
                f"Nothing public says where to cut numbers, and {why}. They get {ON_A_GRID}.{left_out} {_ADVICE}"
            )
            return
        schema = widest_schema(Purchase(recipe, columns), gaps=has_names)
        context.public = replace(public, schema=schema, columns=columns, recipe=recipe, features=len(schema.features))
        if public.records * self.epsilon < SAFE_FROM and kinds & {"numeric", "date"}:
            context.uninformed = (
                f"n·ε is below {SAFE_FROM:,}: numbers that are far from 0 compared with their spread, such as years, "
                f"are cut badly. {_ADVICE}"
            )

    @property
    def _is_declared(self) -> bool:
        return self.trees is not None and self.trees.is_fixed

    def _chosen(self, public: PublicInfo, labels: int) -> Construction:
        """Return what to publish. With balanced labels this also depends on whether empirical Bayes is possible."""
        is_possible = self._is_balanced and labels == 2 and not public.has_row_weights and public.points is not None
        if is_possible:
            declared = None if self.trees is None else self.trees.predicates
            asked = self._linear_predicates(public) if declared is None else declared
            is_possible = has_rows_for(len(asked) + 2, public.points)  # two more: the constant, and the label of a tree
        return choose(public.records, self.epsilon, self.method, is_balanced=is_possible)

    def _linear_predicates(self, public: PublicInfo) -> Predicates:
        """More than trees can afford."""
        if public.recipe is not None and public.schema is not None:
            return from_schema(public.schema, 1)[: most_linear(public.records)]
        return linear_predicates(rarest_for(public.records, self.epsilon), public.records, public.points, public.schema)

    def _request(self, context: FitContext) -> Request:
        if self.delta == 0 and self.method != "tree":
            raise ParameterError("delta", "above 0, or 0 with method='tree', which alone is pure", self.delta)
        if self.delta != 0:
            check_delta(self.delta)
        if self.device not in get_args(DeviceChoice):
            raise ParameterError("device", f"one of {', '.join(map(repr, get_args(DeviceChoice)))}", self.device)
        check_class_weight(self.class_weight)
        check_positive("weight_bound", self.weight_bound)
        if self.features not in get_args(FeatureChoice):
            raise ParameterError("features", f"one of {', '.join(map(repr, get_args(FeatureChoice)))}", self.features)
        if self.features == "dense" and (self.method == "tree" or self.trees is not None):
            raise ParameterError("features", "'auto' or 'predicates' for trees", "dense")
        return context.request(Budget(self.epsilon, self.delta))

    def _add_maps(self, context: FitContext) -> None:
        """Make the public feature maps of the linear classifiers."""
        public, trees = context.public, context.hypotheses
        if self._is_dense(public):
            dense = dense_features(public.features, public.points, public.schema)
            context.public = replace(public, maps={"dense": dense})
            return
        if not isinstance(trees, DecisionTrees) or trees.predicates is None:
            raise ParameterError("public", "public rows or a schema", None)
        chosen = self._chosen(public, trees.labels)
        if not chosen.maps:
            return
        predicates = trees.predicates if self._is_declared else self._linear_predicates(public)
        if public.points is None and public.schema is not None and has_cuts(public.schema):
            public = replace(public, stand_in=stand_in_rows(public.schema, stand_ins_for(len(predicates))))
        maps = feature_maps(
            chosen,
            public.records,
            self.epsilon,
            trees.labels,
            predicates,
            public.features,
            public.rows,
            public.schema,
        )
        context.public = replace(public, maps=maps)

    def _make_plan(self, context: FitContext, request: Request) -> PublishedPlan:
        self._add_maps(context)
        public, trees = context.public, context.hypotheses
        if request.records * self.epsilon < FEWEST:
            raise InfeasiblePlan(
                f"With n = {request.records:,} and ε = {self.epsilon:g} a published classifier would be noise: n·ε is "
                f"below {FEWEST}.",
                f"n ≥ {ceil(FEWEST / self.epsilon):,} at this ε, or ε ≥ {FEWEST / request.records:.2g} at this n",
            )
        if isinstance(trees, DecisionTrees):
            dense = public.maps.get("dense")
            predicates = len(trees.predicates or ()) if dense is None else dense.size
            context.shortfall = nothing_learned(public.records, self.epsilon, predicates, trees.labels)
        return plan_published(
            request,
            self.method,
            public.maps,
            public=public.rows,
            is_balanced=self._is_balanced,
            has_row_weights=public.has_row_weights,
            bought=public.bought,
        )

    @property
    def _weights_shown(self) -> ByLabel | None:
        """What a record of each label counted in the last run, in 64ths."""
        return vars(self).get("_by_label")

    @property
    def class_weight_(self) -> dict[Any, float]:
        """What a record of each label counted, by its name."""
        check_is_fitted(self, "plan_")
        return weights_of(self._weights_shown, self.classes_.tolist())

    @property
    def _is_balanced(self) -> bool:
        return isinstance(self.class_weight, str)

    def _check_inputs(self, context: FitContext, inputs: FitInputs) -> FitInputs:
        """Give records the declared weights of their labels, look for a GPU, and refuse what would not fit."""
        records, names = inputs.records, context.names.tolist()
        if self._is_balanced:  # refuse before the labels are counted, which spends ε
            weighed(records, (WHOLE,) * len(names))
        by_label = declared_weights(self.class_weight, names)
        records = records if by_label is None else weighed(records, by_label)
        gpu = self._find_gpu(has_weights=context.is_user_level or context.public.has_row_weights)
        if gpu is None:
            records.check_room(tuple(context.public.maps.values()))
        return replace(inputs, records=records, gpu=gpu)

    def _find_gpu(self, *, has_weights: bool) -> str | None:
        """Return the GPU that this fit uses, None for the CPU. Rows of persons have weights, too."""
        found = Found(None, "persons and records with weights are added up on the CPU")
        if not has_weights and self.class_weight is None and self.device != "cpu":
            found = find_gpu()
        if found.name is None and self.device == "cuda":
            warnings.warn(
                f"No GPU is used: {found.why_not}. The CPU computes the same, to the last bit.", NoGpu, stacklevel=5
            )
        return found.name

    def _start(self, context: FitContext, inputs: FitInputs, plan: PublishedPlan, entropy: Entropy) -> None:
        stage, records = plan.stage, inputs.records
        if context.public.recipe is not None:
            first, *rest = stage.stages if isinstance(stage, Stages) else (stage,)
            if not isinstance(first, PredicatesStage):
                raise AssertionError("A plan that buys predicates begins with their stage.")
            records = self._buy(context, inputs, first, entropy)
            stage = rest[0] if len(rest) == 1 else Stages(tuple(rest))
        records = records if inputs.gpu is None else OnDevice(records, inputs.gpu)
        public = context.public
        self.hypothesis_, self._by_label = publish_weighed(
            stage, context.hypotheses, records, entropy, maps=public.maps, public=public.rows
        )
        if self._by_label is not None:
            said = in_words(self._by_label, context.names.tolist(), is_balanced=self._is_balanced)
            context.guarantee = context.guarantee.explained(said)

    def _buy(self, context: FitContext, inputs: FitInputs, stage: PredicatesStage, entropy: Entropy) -> Records:
        """Buy predicates, which fix class, schema and maps. Return the records, read by what was bought.

        But for the records, whose cells are read one by one, all of it is a function of what was shown.
        """
        recipe, labels, records, raw = context.public.recipe, context.hypotheses.labels, inputs.records, inputs.raw
        if recipe is None:
            raise AssertionError("Nothing is bought.")
        schema = private_schema(private_columns(inputs, entropy), stage, entropy)
        if raw is None:
            schema = Schema(tuple(replace(column, missing=False) for column in schema.columns))
        else:
            records, context.schema = read_again(records, raw, schema), schema
            self.n_features_in_ = records.width
        finer = cut_further(schema, recipe.parts)
        context.public = PublicInfo(context.public.records, len(finer.features), None, finer)
        self._prepare_class(context)
        context.hypotheses = context.hypotheses.with_labels(labels)
        self._add_maps(context)
        return records


def private_columns(inputs: FitInputs, entropy: Entropy) -> RawTable:
    """Return the private table from which predicates are bought: of persons one row each, chosen by secret coins.

    Each record counts one here, whatever its weight.
    """
    records, raw = inputs.records, inputs.raw
    if isinstance(records, GroupedRecords):
        chosen = records.one_row_each(entropy)
        return raw.rows(chosen) if isinstance(raw, RawInMemory) else RawRecords(records.source.rows(chosen))
    if raw is None:
        return RawRecords(records.source if isinstance(records, WeighedRows) else records)
    return RawParted(records, raw) if isinstance(records, Parted) else raw


def read_again(records: Records, raw: RawTable, schema: Schema) -> Records:
    """Return the records of a table of known kinds, read by the bought schema."""
    if isinstance(records, WeighedRows):
        return records.over(read_again(records.source, raw, schema))
    if isinstance(records, Parted):
        return records.read_by(schema)
    if isinstance(records, Encoded) and isinstance(raw, RawInMemory):
        return records.with_table(raw.compact(schema))
    raise AssertionError("Predicates are bought of records in memory or in parts.")


def on_grid(trees: DecisionTrees, schema: Schema | None) -> DecisionTrees:
    """Return the trees over the public grid of a schema: many predicates, hence small ones."""
    found = predicates_of_schema(schema, None, MOST_ON_GRID) if schema is not None else ()
    deepest = _DEEPEST_ON_GRID if len(found) <= _MOST_AT_DEPTH_3 else _DEEPEST_ON_GRID - 1
    return replace(trees, predicates=found, deepest=min(trees.deepest, deepest))
