"""Plans for classifiers that are published at once, beyond one draw."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.plan.contest import ContestStage
from pcqr.plan.counting import AskedStage, CountedStage
from pcqr.plan.head import HeadStage
from pcqr.plan.piloted import PilotedStage
from pcqr.plan.plans import DrawPlan, Plan


@dataclass(frozen=True, kw_only=True)
class HeadPlan(Plan):
    """A plan to publish a private head at once.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    head : HeadStage
        The noisy gradient descent.

    Examples
    --------
    >>> from pcqr.algorithms.head import head_guarantee
    >>> from pcqr.plan import Budget, HeadPlan, HeadStage
    >>> head = HeadStage(10_000, 40, 10, 5, 128, 50, 2**20, 2.0**27, 0.9, 0.001)
    >>> guarantee = head_guarantee(head, 1e-6)
    >>> HeadPlan(mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=guarantee, head=head).head.draws
    18000
    """

    head: HeadStage


@dataclass(frozen=True, kw_only=True)
class PilotedPlan(Plan):
    """A plan to publish the head that two pilots choose.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    piloted : PilotedStage
        The pilots, their comparison and the three heads of which one is run.

    Examples
    --------
    >>> from pcqr.algorithms.piloted import piloted_guarantee
    >>> from pcqr.plan import Budget, HeadStage, PilotedPlan, PilotedStage
    >>> plain, mixed, ferned = (
    ...     HeadStage(10_000, 40, ferns, depth, share, 50, 2**20, 2.0**27, 0.9, 0.001)
    ...     for ferns, depth, share in ((0, 0, 256), (10, 5, 128), (10, 5, 13))
    ... )
    >>> stage = PilotedStage((plain, ferned), 2.0**25, -80, 0, (plain, mixed, ferned))
    >>> guarantee = piloted_guarantee(stage, 1e-6)
    >>> plan = PilotedPlan(mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=guarantee, piloted=stage)
    >>> plan.piloted.mixed_from
    -80
    """

    piloted: PilotedStage


@dataclass(frozen=True, kw_only=True)
class AskedPlan(Plan):
    """A plan to publish a tree or a head at once, by one private question: about trees, or about a pilot and trees.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    asked : AskedStage or ContestStage
        The question, and what may come after it.

    Examples
    --------
    >>> from pcqr import PrivateClassifier
    >>> from pcqr.plan import AskedPlan
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(2_000, 1)), rng.normal(size=(50, 1))
    >>> classifier = PrivateClassifier(entropy=0)  # seeded: NOT PRIVATE
    >>> plan = classifier.fit(X, (X[:, 0] > 0).astype(int), public=public).plan_
    >>> isinstance(plan, AskedPlan), plan.asked.question
    (True, 0.04)
    """

    asked: AskedStage | ContestStage


@dataclass(frozen=True, kw_only=True)
class CountedPlan(Plan):
    """A plan to publish a tree or a head at once, by private questions: a count of the rarer label comes first.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        As for every plan.
    counted : CountedStage
        The count, and all that may come after it.

    Examples
    --------
    >>> from pcqr import PrivateClassifier
    >>> from pcqr.plan import CountedPlan
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, public = rng.normal(size=(4_000, 1)), rng.normal(size=(50, 1))
    >>> classifier = PrivateClassifier(method="counted", entropy=0)  # seeded: NOT PRIVATE
    >>> plan = classifier.fit(X, (X[:, 0] > 0).astype(int), public=public).plan_
    >>> isinstance(plan, CountedPlan), plan.counted.count
    (True, 0.03)
    """

    counted: CountedStage


ClassifierPlan = DrawPlan | HeadPlan | PilotedPlan | AskedPlan | CountedPlan
