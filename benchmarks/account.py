"""The table and the picture of docs/account.md: how many releases fit into an account, and what one looks like.

    python -m benchmarks.account

Needs matplotlib. Writes the table into docs/account.md and draws docs/images/account.png, of a made-up account:
the releases in it are plans, and nothing was run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.accuracy import markdown
from benchmarks.pages import put_between
from pcqr.data.records.feature_map import WHOLE_SHARE, FeatureMap
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.durable.account.filters import Filter, new_filter
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.planner.request import Request
from pcqr.plotting.pictures import draw_account
from pcqr.release import Account
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.classifier.planning import plan_published
from pcqr.releases.protocol.plan import Aim, Budget, Plan
from pcqr.releases.semi_private.planning import plan_semi_private

PAGE, PICTURE = Path("docs/account.md"), Path("docs/images/account.png")
EPSILON, DELTA = 4.0, 1e-5
"""Of the account."""
EACH, DRAWN = 1e-8, 2e-6
"""δ of each release: in the table, and in the picture."""
RECORDS, EPSILONS = 100_000, (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
HEADER = ["release", "filter", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
_TREES = DecisionTrees(depth=2, predicates=tuple(Predicate(0, cut / 10) for cut in range(10)))


def tree(epsilon: float, _: float = 0.0) -> Plan:
    hypotheses = Stumps(cuts=[0.25, 0.5, 0.75])
    return plan_semi_private(Request(records=RECORDS, features=1, hypotheses=hypotheses, budget=Budget(epsilon)))


def linear(epsilon: float, delta: float = EACH) -> Plan:
    request = Request(records=RECORDS, features=1, hypotheses=_TREES, budget=Budget(epsilon, delta))
    features = FeatureMap(PredicateVectors.of(_TREES.predicates or (), 1), None, WHOLE_SHARE)
    return plan_published(request, "linear", {"plain": features})


def votes(epsilon: float, delta: float = EACH) -> Plan:
    aim = Aim(queries=100, alpha=0.1, beta=0.05)
    budget = Budget(epsilon, delta)
    return plan_agnostic(
        Request(records=RECORDS, features=1, hypotheses=Stumps(), budget=budget, aim=aim), "calibrated"
    )


KINDS: dict[str, Callable[..., Plan]] = {
    "one draw, published at once (a tree)": tree,
    "a linear classifier, published at once": linear,
    "answers by votes": votes,
}


def fitting(plan: Plan, rule: Filter) -> int:
    """How many releases with this plan fit."""
    price, limit = rule.price(plan.guarantee), rule.limit
    counts = [limit.loss // price.loss]
    if price.delta:
        counts.append(limit.delta // price.delta)
    return int(min(counts))


def rows() -> list[list[str]]:
    rules = [new_filter(name, EPSILON, DELTA) for name in ("basic", "zcdp")]
    return [
        [kind, rule.name, *(f"{fitting(plan(epsilon), rule):,}" for epsilon in EPSILONS)]
        for kind, plan in KINDS.items()
        for rule in rules
    ]


def draw(path: Path = PICTURE) -> None:
    """A made-up account, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PCQR_DATA_DIR": folder, "PCQR_STATE_DIR": folder}
        account = Account.create("hospital", EPSILON, DELTA)
        for what, hypotheses, made, epsilon in (
            ("SemiPrivateLearner", "DecisionTrees", tree, 0.5),
            ("AgnosticRelease", "Stumps", votes, 1.0),
            ("PrivateClassifier", "DecisionTrees", linear, 1.0),
            ("a table of counts", None, tree, 0.2),
            ("AgnosticRelease", "Stumps", votes, 0.5),
        ):
            plan = made(epsilon, DRAWN)
            account.charge(plan.guarantee, what, hypotheses=hypotheses)
        draw_account(path, account)


def main() -> None:
    table = markdown(HEADER, rows())
    put_between(PAGE, "how many fit", table.strip())
    draw()
    print(table)


if __name__ == "__main__":
    main()
