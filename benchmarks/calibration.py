"""Can the probabilities of a private linear classifier be trusted? UCI Adult, test rows that no part of the fit saw.

    python -m benchmarks.calibration [--fast] [--redraw]

2,000 rows of the test part are public. The linear classifier is fitted on the 32,561 training records (replace-one,
δ = 10⁻⁶) and scored on the other 14,281 test rows. A bin holds the rows whose probability of >50K lies in a tenth of
[0, 1]: where probabilities are right, so many of its rows earn that much. Beside the log-loss of `predict_proba`
(natural logarithm, less is better) stands that of the plain logistic function of the margins, and of the share of >50K
among all rows.
Then a linear classifier of mostly ferns at the last ε is drawn as `PublishedModel.draw` and `importances` draw it.

Randomness is seeded so that a run can be repeated; neither accuracy nor calibration depends on it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, wide_console, write_json
from pcqr import AssumePublic, PrivateClassifier
from pcqr.algorithms.published import publish
from pcqr.datasets import load_adult
from pcqr.drawing import INK, LINE, MUTED, PUBLISHED, SMALL, entitle, mark_in_percent, note, picture, tidy
from pcqr.entropy import SeededEntropy
from pcqr.hypotheses import DecisionTrees
from pcqr.models import PublishedModel
from pcqr.plan import Budget
from pcqr.planning import Request
from pcqr.planning.classifiers.linear import linear_predicates, make_feature_map
from pcqr.planning.classifiers.published import Maps, plan_published
from pcqr.planning.classifiers.recipes import rarest_for, recipe_for
from pcqr.records import InMemory

EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-6
PUBLIC, BINS = 2_000, 10

RESULTS = Path("benchmarks/results/calibration.json")
PICTURES = Path("docs/images")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """At one ε: accuracy, log-losses, and for each bin (rows, mean probability, share of the label)."""

    epsilon: float
    accuracy: float
    log_loss: float
    logistic: float
    constant: float
    bins: Sequence[tuple[int, float, float]]

    @property
    def error(self) -> float:
        """The expected calibration error: |mean probability − share|, weighed by the rows of a bin."""
        total = sum(rows for rows, _, _ in self.bins)
        return sum(rows * abs(said - seen) for rows, said, seen in self.bins) / total

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Calibration:
        return cls(**{**fields, "bins": [tuple(entry) for entry in fields["bins"]]})

    def row(self) -> list[str]:
        losses = (self.log_loss, self.logistic, self.constant)
        return [
            f"{self.epsilon:g}",
            f"{100 * self.accuracy:.1f}",
            f"{100 * self.error:.1f}",
            *(f"{x:.3f}" for x in losses),
        ]


HEADER = ["ε", "accuracy %", "calibration error, points", "log-loss", "plain logistic", "the same for all"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--fast", action="store_true", help="ε = 0.1 alone, and nothing is written")
    options.add_argument("--redraw", action="store_true", help="draw the stored results anew")
    given = options.parse_args()
    console = wide_console()
    if given.redraw:
        stored = json.loads(RESULTS.read_text(encoding="utf-8"))
        draw([Calibration.read(fields) for fields in stored["cases"]])
        return
    cases = []
    for epsilon in EPSILONS[:1] if given.fast else EPSILONS:
        case = measure(epsilon)
        cases.append(case)
        console.print(markdown(HEADER, [case.row()]))
    if given.fast:
        return
    write_json(RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in cases])
    draw(cases)
    model, public = with_ferns(EPSILONS[-1])
    model.explained(public).draw(PICTURES / "linear.png")
    model.importances(public).draw(PICTURES / "importance.png")


def with_ferns(epsilon: float) -> tuple[PublishedModel, Floats]:
    """Return a linear classifier of mostly ferns, whatever pilots would choose, and the public rows."""
    data = load_adult()
    public = data.X_test[np.random.default_rng(0).permutation(data.y_test.size)[:PUBLIC]]
    n, columns = data.X_train.shape
    predicates = linear_predicates(rarest_for(n, epsilon), n, public, data.schema)
    recipe = recipe_for("mostly ferns", n, epsilon)
    maps: Maps = {"mostly ferns": make_feature_map(recipe, predicates, columns, public, data.schema)}
    trees = DecisionTrees().prepared(public, data.schema)
    request = Request(records=n, features=columns, hypotheses=trees, budget=Budget(epsilon, DELTA))
    plan = plan_published(request, "linear", maps, public=public)
    found = publish(plan.stage, trees, InMemory(data.X_train, data.y_train), SeededEntropy(1), maps=maps, public=public)
    promised = plan.guarantee.drawn_with(private_entropy=False)
    return PublishedModel(found, data.label_names, data.schema, promised), public


def measure(epsilon: float) -> Calibration:
    """Fit at this ε, and compare what it says with what is so."""
    data = load_adult()
    order = np.random.default_rng(0).permutation(data.y_test.size)
    public, asked = data.X_test[order[:PUBLIC]], order[PUBLIC:]
    X, y = data.X_test[asked], data.y_test[asked]
    linear = PrivateClassifier(epsilon, DELTA, method="linear", entropy=1, classes=(0, 1))
    linear.fit(data.X_train, data.y_train, public=AssumePublic(public))  # some rows of the two parts coincide
    said = linear.predict_proba(X)[:, 1]
    logistic = 1.0 / (1.0 + np.exp(-linear.decision_function(X)))
    return Calibration(
        epsilon,
        float(np.mean(linear.predict(X) == y)),
        log_loss(said, y),
        log_loss(logistic, y),
        log_loss(np.full(y.size, y.mean()), y),
        binned(said, y),
    )


def log_loss(said: Floats, y: NDArray[np.int8]) -> float:
    return float(-np.log(np.clip(np.where(y == 1, said, 1.0 - said), 1e-12, 1.0)).mean())


def binned(said: Floats, y: NDArray[np.int8]) -> list[tuple[int, float, float]]:
    """(rows, mean probability, share of the label 1) for each tenth of [0, 1] that has any rows."""
    places = np.minimum((said * BINS).astype(int), BINS - 1)
    held = [places == place for place in range(BINS) if (places == place).any()]
    return [(int(rows.sum()), float(said[rows].mean()), float(y[rows].mean())) for rows in held]


def draw(cases: Sequence[Calibration]) -> None:
    """One panel for each ε: what was said against what is so, with two standard errors of the share."""
    with picture(PICTURES / "calibration.png", 3.4 * len(cases), 3.9) as figure:
        for axes, case in zip(figure.subplots(1, len(cases), sharey=True), cases, strict=True):
            tidy(axes)
            axes.plot((0, 1), (0, 1), color=LINE, linewidth=1.0, zorder=1)
            rows, said, seen = (np.array(column) for column in zip(*case.bins, strict=True))
            spread = 2.0 * np.sqrt(seen * (1.0 - seen) / rows)
            axes.errorbar(said, seen, yerr=spread, color=PUBLISHED, fmt="o-", markersize=4, linewidth=1.7, zorder=3)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            mark_in_percent(axes.xaxis)
            mark_in_percent(axes.yaxis)
            axes.set_xlabel("probability of >50K, as the linear classifier says", fontsize=SMALL)
            error = f"off by {100 * case.error:.1f} points on average"
            entitle(axes, f"ε = {case.epsilon:g}", error)
        figure.axes[0].set_ylabel("share of >50K among such test rows", fontsize=SMALL, color=MUTED)
        note(figure.axes[0], "as it should be", (0.62, 0.62), (4, -14), color=INK)


if __name__ == "__main__":
    main()
