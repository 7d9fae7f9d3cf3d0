"""Plans for classifiers that are published at once: a tree, a head, or either by private questions.

`method="auto"` chooses by a rule on public numbers alone (`pcqr.planning.classifiers.rule.choose`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pcqr.algorithms.asked import asked_guarantee
from pcqr.algorithms.contest import contest_guarantee
from pcqr.algorithms.counted import counted_guarantee
from pcqr.algorithms.head import head_guarantee
from pcqr.algorithms.piloted import piloted_guarantee
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import AskedPlan, ClassifierPlan, CountedPlan, HeadPlan, PilotedPlan
from pcqr.planning import plan_semi_private
from pcqr.planning.classifiers.asked import plan_asked
from pcqr.planning.classifiers.contest import plan_contest
from pcqr.planning.classifiers.counted import plan_counted
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import plan_head
from pcqr.planning.classifiers.piloted import plan_piloted
from pcqr.planning.classifiers.rule import TWO_CLASSES_ONLY, Choice, choose, has_contest
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures


def plan_published(
    request: Request, method: Choice, maps: Sequence[HeadFeatures] = (), *, public: Points | None = None
) -> ClassifierPlan:
    """A plan within (ε, δ) for the method, or for the one that `choose` picks. Trees are pure: their δ is 0.

    A head is planned for `maps`, the public feature maps that `head_maps` or `dense_features` makes: one, or three
    among which pilots choose. Before the one of a head that a pilot stands for in a contest comes that of the pilot
    (`scout_map`), and where the labels are counted, that of the careful head (`careful_map`) comes first.
    """
    if method not in get_args(Choice):
        raise ParameterError("method", f"one of {', '.join(map(repr, get_args(Choice)))}", method)
    request.check_epsilon()
    trees = request.hypotheses
    if not isinstance(trees, DecisionTrees):
        raise ParameterError("hypotheses", "decision trees, whose public predicates all methods share", trees)
    chosen = choose(request.records, request.epsilon, trees.labels) if method == "auto" else method
    if chosen == "tree":
        return plan_semi_private(request)
    if chosen in TWO_CLASSES_ONLY and trees.labels > 2:
        several = "'tree' or 'head' for more than two classes"
        raise ParameterError("method", f"{several}. Only binary classification is supported by {chosen!r}", method)
    if not maps:
        raise ParameterError("maps", "a feature map for the head", None)
    if chosen == "asked" and has_contest(request.records, request.epsilon):
        contest = plan_contest(request, trees, maps, request.delta)
        guarantee = contest_guarantee(contest, trees, request.features, request.delta)
        return AskedPlan(**request.promise(guarantee), asked=contest)
    if chosen == "asked":
        asked = plan_asked(request, trees, maps[0])
        guarantee = asked_guarantee(asked, trees, request.features, request.delta)
        return AskedPlan(**request.promise(guarantee), asked=asked)
    if chosen == "counted":
        counted = plan_counted(request, trees, maps, public=public)
        guarantee = counted_guarantee(counted, trees, request.features, request.delta)
        return CountedPlan(**request.promise(guarantee), counted=counted)
    return _plan_heads(request, trees.labels, maps)


def _plan_heads(request: Request, labels: int, maps: Sequence[HeadFeatures]) -> HeadPlan | PilotedPlan:
    n, epsilon, delta = request.records, request.epsilon, request.delta
    if len(maps) > 1:
        piloted = plan_piloted(n, maps, epsilon, delta, classes=labels)
        return PilotedPlan(**request.promise(piloted_guarantee(piloted, delta)), piloted=piloted)
    head = plan_head(n, maps[0], recipe_of(maps[0], n, epsilon, labels), epsilon, delta, classes=labels)
    return HeadPlan(**request.promise(head_guarantee(head, delta)), head=head)
