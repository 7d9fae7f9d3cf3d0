"""One example and one strategy for each type of document that a plan is made of. See `support.documents`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from hypothesis import strategies as st

from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, RenyiSparseVector
from pcqr.privacy.composition import Branch, Sequence, Stage
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import LARGEST_SCALE
from pcqr.privacy.unit import PRESENCE, RECORD
from pcqr.releases.classifier.plan import (
    ClassCountsStage,
    ComparisonStage,
    LeafCountsStage,
    LinearStage,
    MapName,
    PredicatesStage,
)
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxPlan, ConfidentMaxStage
from pcqr.releases.gibbs.plan import GibbsPlan, GibbsStage
from pcqr.releases.interactive.plan import InteractiveMaxPlan, PupilStage
from pcqr.releases.knn.plan import IndividualPlan, IndividualStage
from pcqr.releases.knn.sampled import SampledPlan, SampledStage
from pcqr.releases.multiparty.plan import PartiesPlan, PartiesStage
from pcqr.releases.noisy_max.plan import NoisyMaxPlan, NoisyMaxStage
from pcqr.releases.protocol.plan import Aim, Budget, Prediction
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan
from pcqr.releases.subsample.plan import VoteStage, VotingPlan
from pcqr.releases.universal.plan import ClassifierPlan, UniversalPlan

AIM = Aim(300, 0.1, 0.05)
PREDICTION = Prediction(0.01, 1 / 3, 0.02, (0.0, 0.1), None)
ONE_SIDED = OneSidedSparseVector(40, 2.5, 7.5, 3)
VOTE = VoteStage(10_000, 5_000, 101, 0.3, ONE_SIDED, copies=None, public=50)
LINEAR = LinearStage(435_759, 230, 400, 13, 13, 80, 2**24, 1e9 / 3, 0.9, 0.1, 7, 3, "mostly ferns", 0.55)
SOME = replace(LINEAR, ferns=200, depth=9, share=128, features="some ferns")
COMPARISON = ComparisonStage(435_759, 2**24, 1e8 / 3, -3_486)
OPTIONS = Branch((SOME, LINEAR))
PILOTS = tuple(replace(linear, steps=25, scale=2e9 / 3) for linear in (SOME, LINEAR))
PILOTED = Sequence((DrawStage(0.1 / 3), *PILOTS, COMPARISON, OPTIONS))
INDIVIDUAL = IndividualStage(58_000, 10, 2_000, 8, 0.036, 1e9 / 3, 0.6, 2**31, 1_000, 16_000)
CONFIDENT = ConfidentMaxStage(60_000, 250, 640, 286, ConfidentMax(200, 150.5, 40.25), 10)
PARTIES = PartiesStage(30_561, 385, 2_000, 145, 0.023, 0.04426, 11, 1e8 / 3, 2**30, 3)
STATED = Guarantee(0.999, 1e-6, proof="ag_priv_cl", steps=("sparse vector",))
PROMISE: dict[str, Any] = {"mode": "calibrated", "budget": Budget(1.0, 1e-6), "guarantee": STATED}

EXAMPLES: dict[str, Any] = {
    "one-sided-sparse-vector": ONE_SIDED,
    "renyi-sparse-vector": RenyiSparseVector(40, 2.5, 7.5, 12, 30, 1e-7),
    "paper-sparse-vector": PaperSparseVector(4_000, 123.25, 20, 1_000, 5e-7),
    "gaussian-max": GaussianMax(41.5),
    "exponential-max": ExponentialMax(0.01),
    "laplace-max": LaplaceMax(20.0),
    "confident-max": CONFIDENT.noise,
    "budget": Budget(0.5),
    "aim": Aim(None, 0.1, 0.05),
    "prediction": PREDICTION,
    "vote-stage": VOTE,
    "noisy-max-stage": NoisyMaxStage(10_000, 250, 100, GaussianMax(41.5)),
    "sampled-stage": SampledStage(58_000, 10, 140, 1_000, 1, 10, 50 / 3),
    "gibbs-stage": GibbsStage(5_000, 800, 3, 2 / 3),
    "individual-stage": replace(INDIVIDUAL, unit=PRESENCE),
    "confident-max-stage": CONFIDENT,
    "pupil-stage": PupilStage(175, 0.9, 20),
    "parties-stage": PARTIES,
    "draw-stage": DrawStage(0.2, after_queries=40),
    "leaf-counts-stage": LeafCountsStage(1 / 3),
    "class-counts-stage": ClassCountsStage(200 / 3, classes=3),
    "predicates-stage": PredicatesStage(30_561, 6, 7, 3, 0.1 / 3, 100 / 3, 200 / 3, 400.5),
    "linear-stage": LINEAR,
    "comparison-stage": COMPARISON,
    "sequence": PILOTED,
    "branch": OPTIONS,
    "voting-plan": VotingPlan(**PROMISE, aim=AIM, prediction=PREDICTION, proved=0.09, vote=VOTE),
    "universal-plan": UniversalPlan(**PROMISE, aim=AIM, vote=VOTE, publish=DrawStage(0.2, 40)),
    "classifier-plan": ClassifierPlan(**PROMISE, aim=AIM, stage=LINEAR),
    "noisy-max-plan": NoisyMaxPlan(**PROMISE, aim=AIM, vote=NoisyMaxStage(10_000, 250, 100, ExponentialMax(0.01))),
    "sampled-plan": SampledPlan(**PROMISE, aim=AIM, vote=SampledStage(58_000, 10, 140, 1_000, 1, 10, 50 / 3)),
    "gibbs-plan": GibbsPlan(**PROMISE, aim=AIM, draws=GibbsStage(5_000, 800, 300, 2 / 3)),
    "individual-plan": IndividualPlan(**PROMISE, aim=AIM, vote=INDIVIDUAL),
    "confident-max-plan": ConfidentMaxPlan(**PROMISE, aim=AIM, vote=CONFIDENT),
    "interactive-max-plan": InteractiveMaxPlan(**PROMISE, aim=AIM, vote=CONFIDENT, pupil=PupilStage(175, 0.9, 20)),
    "parties-plan": PartiesPlan(**PROMISE, student=PARTIES),
    "published-plan": PublishedPlan(**PROMISE | {"guarantee": replace(STATED, rho=0.1 / 3)}, stage=PILOTED),
}

whole = st.integers(1, 2**63 - 1)
counts = st.integers(0, 2**63 - 1)
scales = st.floats(0, LARGEST_SCALE, exclude_min=True)
chances = st.floats(0, 1, exclude_min=True, exclude_max=True)
temperatures = st.floats(0, 1e9)
numbers = st.floats(allow_nan=False)
ranges = st.none() | st.tuples(numbers, numbers)

one_sided = st.builds(OneSidedSparseVector, counts, scales, scales, whole)
renyi = st.builds(RenyiSparseVector, counts, scales, scales, counts, whole, chances)
papers = st.builds(PaperSparseVector, counts, st.floats(0, LARGEST_SCALE / 2, exclude_min=True), whole, whole, chances)
gaussian = st.builds(GaussianMax, scales)
laplace = st.builds(LaplaceMax, scales)
coarse = st.floats(0, LARGEST_SCALE / 2**30, exclude_min=True)
confident = st.builds(ConfidentMax, counts, coarse, coarse, st.integers(1, 2**30))
pupils = st.builds(PupilStage, counts, st.floats(0, 1, exclude_min=True), whole)
exponential = st.builds(ExponentialMax, st.floats(1 / LARGEST_SCALE, LARGEST_SCALE))
budgets = st.builds(Budget, st.floats(1e-300, 1e300), st.just(0.0) | st.floats(1e-300, 0.999))
aims = st.builds(Aim, whole, chances, chances)
predictions = st.builds(Prediction, numbers, numbers, numbers, ranges, ranges)
draws = st.builds(DrawStage, temperatures, counts)
class_counts = st.builds(ClassCountsStage, st.floats(1e-300, 2.0**50), st.integers(2, 127))
leaf_counts = st.builds(LeafCountsStage, st.floats(1e-300, 2.0**50))
predicates = st.builds(
    PredicatesStage,
    st.integers(1, 2**31 - 1),
    st.integers(1, 300),
    st.integers(1, 300),
    st.integers(1, 8),
    st.floats(1e-300, 600.0),
    st.none() | st.floats(1e-300, 2.0**30),
    st.floats(1e-3, 2.0),
    st.floats(100.0, 1e6),
)


@st.composite
def linears(draw: st.DrawFn) -> LinearStage:
    share = draw(st.integers(0, 256))
    sizes = st.integers(1, 4096)
    return LinearStage(
        draw(st.integers(1, 10**6)),
        draw(sizes) if share else 0,
        draw(sizes) if share < 256 else 0,
        draw(st.integers(1, 16)) if share < 256 else 0,
        share,
        draw(whole),
        2 ** draw(st.integers(0, 24)),
        draw(scales),
        draw(st.floats(0, 1, exclude_max=True)),
        draw(st.floats(1e-300, 1e300)),
        draw(st.integers(2, 127)),
        draw(counts),
        draw(st.sampled_from(get_args(MapName))),
        draw(st.floats(0.0, 1.0, exclude_min=True)),
    )


@st.composite
def comparisons(draw: st.DrawFn) -> ComparisonStage:
    records = draw(st.integers(1, 2**31 - 1))
    lead = draw(st.integers(-records, records))
    return ComparisonStage(records, 2 ** draw(st.integers(0, 24)), draw(scales), lead)


@st.composite
def votes(draw: st.DrawFn) -> VoteStage:
    records, subsample, teachers = sorted((draw(whole), draw(whole), draw(whole)), reverse=True)
    relabelled = draw(st.booleans())
    more = st.none() | whole if relabelled else st.none()
    return VoteStage(
        records,
        subsample,
        teachers - 1 + teachers % 2,
        draw(temperatures) if relabelled else None,
        draw(one_sided | renyi | papers),
        draw(more),
        draw(more),
    )


def several(parts: st.SearchStrategy[Stage]) -> st.SearchStrategy[tuple[Stage, ...]]:
    return st.lists(parts, min_size=2, max_size=4).map(tuple)


def composed(parts: st.SearchStrategy[Stage]) -> st.SearchStrategy[Stage]:
    return st.builds(Sequence, several(parts)) | st.builds(Branch, several(parts))


@st.composite
def noisy_votes(draw: st.DrawFn) -> NoisyMaxStage:
    teachers, records = sorted((draw(whole), draw(whole)))
    labels = draw(st.just(2) | st.integers(2, 127))
    return NoisyMaxStage(records, teachers, draw(whole), draw(gaussian | exponential | laplace), labels)


stages = st.recursive(draws | leaf_counts | linears() | comparisons() | votes(), composed, max_leaves=6)

sampled = st.builds(
    SampledStage,
    records=st.integers(100, 10**6),
    classes=st.integers(2, 127),
    neighbours=st.integers(1, 100),
    queries=whole,
    chosen=st.integers(1, 9),
    out_of=st.integers(10, 2**32),
    scale=scales,
)


@st.composite
def posteriors(draw: st.DrawFn) -> GibbsStage:
    records = draw(whole)
    return GibbsStage(records, draw(st.integers(1, records)), draw(whole), draw(st.floats(0.0, 1e9)))


individual = st.builds(
    IndividualStage,
    records=st.integers(1, 10**6),
    classes=st.integers(2, 127),
    public=st.integers(50, 10**6),
    reach=st.integers(1, 50),
    budget=st.floats(1e-9, 1e9),
    count_scale=st.floats(1.0, 1e12),
    vote_scale=st.floats(1e-6, 10.0),
    least=st.integers(1, 10**9),
    unanswered=whole,
    limit=st.integers(1, 2**20),
    unit=st.sampled_from([RECORD, PRESENCE]),
    least_weight=st.floats(1e-6, 1.0),
    grid=st.integers(1, 2**26),
)


@st.composite
def confident_votes(draw: st.DrawFn) -> ConfidentMaxStage:
    (teachers, records), (answered, asked) = (sorted((draw(whole), draw(whole))) for _ in range(2))
    return ConfidentMaxStage(records, teachers, asked, answered, draw(confident), draw(st.integers(2, 127)))


@st.composite
def students(draw: st.DrawFn) -> PartiesStage:
    parties, records = sorted((draw(whole), draw(whole)))
    return PartiesStage(
        records,
        parties,
        points=draw(st.integers(1, 2**20)),
        coordinates=draw(st.integers(1, 2**16)),
        penalty=draw(st.floats(1e-6, 1e9)),
        curvature=draw(st.floats(0, 1, exclude_min=True)),
        steps=draw(whole),
        scale=draw(scales),
        grid=2 ** draw(st.integers(0, 30)),
        labels=draw(st.integers(2, 127)),
    )


@st.composite
def plans(draw: st.DrawFn, /, kind: type, aimed: bool = False, **stages: st.SearchStrategy[Any]) -> Any:
    """A plan of `kind`, whose guarantee is within its budget."""
    budget = draw(budgets)
    stated = Guarantee(budget.epsilon, budget.delta, draw(st.text("abc_")), is_private=draw(st.booleans()))
    aim = draw(aims if aimed else st.none() | aims | aims.map(lambda aim: replace(aim, queries=None)))
    return kind(
        mode=draw(st.sampled_from(["paper", "calibrated"])),
        budget=budget,
        guarantee=stated,
        aim=aim,
        prediction=draw(st.none() | predictions),
        proved=None if aim is None else draw(st.none() | st.floats(0, 2)),
        **{name: draw(stage) for name, stage in stages.items()},
    )


STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "one-sided-sparse-vector": one_sided,
    "renyi-sparse-vector": renyi,
    "paper-sparse-vector": papers,
    "gaussian-max": gaussian,
    "exponential-max": exponential,
    "laplace-max": laplace,
    "confident-max": confident,
    "budget": budgets,
    "aim": aims,
    "prediction": predictions,
    "vote-stage": votes(),
    "noisy-max-stage": noisy_votes(),
    "sampled-stage": sampled,
    "gibbs-stage": posteriors(),
    "individual-stage": individual,
    "confident-max-stage": confident_votes(),
    "pupil-stage": pupils,
    "parties-stage": students(),
    "draw-stage": draws,
    "leaf-counts-stage": leaf_counts,
    "class-counts-stage": class_counts,
    "predicates-stage": predicates,
    "linear-stage": linears(),
    "comparison-stage": comparisons(),
    "sequence": st.builds(Sequence, several(stages)),
    "branch": st.builds(Branch, several(stages)),
    "voting-plan": plans(VotingPlan, aimed=True, vote=votes()),
    "universal-plan": plans(UniversalPlan, aimed=True, vote=votes(), publish=draws),
    "classifier-plan": plans(ClassifierPlan, aimed=True, stage=stages),
    "noisy-max-plan": plans(NoisyMaxPlan, aimed=True, vote=noisy_votes()),
    "sampled-plan": plans(SampledPlan, aimed=True, vote=sampled),
    "gibbs-plan": plans(GibbsPlan, aimed=True, draws=posteriors()),
    "individual-plan": plans(IndividualPlan, aimed=True, vote=individual),
    "confident-max-plan": plans(ConfidentMaxPlan, aimed=True, vote=confident_votes()),
    "interactive-max-plan": plans(InteractiveMaxPlan, aimed=True, vote=confident_votes(), pupil=pupils),
    "parties-plan": plans(PartiesPlan, student=students()),
    "published-plan": plans(PublishedPlan, stage=stages),
}
