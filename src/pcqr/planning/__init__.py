"""From public numbers to a frozen `Plan`: n, m, (ε, δ), (α, β), the class. The private data is never touched.

Where to look:

    request        what is asked: budget, aim, pins
    releases       plans for releases by votes, and for one hypothesis that is published at once
    noisy_max      noise on every vote, and what is expected of it
    paper          the paper's constants, corrected
    classifiers/   plans for classifiers that are published at once
    search/        the knobs with the smallest expected loss, within (ε, δ)
    expected/      the model behind "expected": estimates
    proved/        the certificate behind "proved": bounds
    questions/     what a person asks: any unknown, a comparison, a recommendation, an explanation
"""

from __future__ import annotations

from pcqr.planning.releases import plan_agnostic, plan_semi_private, plan_subsample, plan_universal
from pcqr.planning.request import Request

__all__ = ["Request", "plan_agnostic", "plan_semi_private", "plan_subsample", "plan_universal"]
