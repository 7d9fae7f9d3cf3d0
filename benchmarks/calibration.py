"""Can the probabilities of a private classifier be trusted? Test rows that no part of the fit saw.

    python -m benchmarks.calibration [--fast] [--redraw]
    python -m benchmarks.calibration tables [--data FOLDER] [--tables adult,…] [--epsilons .03,…] [--fits N] [--draws N]
    python -m benchmarks.calibration page

**A linear classifier on UCI Adult.** 2,000 rows of the test part are public. The linear classifier is fitted on the
32,561 training records (replace-one, δ = 10⁻⁶) and scored on the other 14,281 test rows. A bin holds the rows whose
probability of >50K lies in a tenth of [0, 1]: where probabilities are right, so many of its rows earn that much. Beside
the log-loss of `predict_proba` (natural logarithm, less is better) stands that of the plain logistic function of the
margins, and of the share of >50K among all rows.
Then a linear classifier of mostly ferns at the last ε is drawn as `PublishedModel.draw` and `importances` draw it.

**All tables, trees included** (`tables`). `fits` fits of "auto", and of "tree" where "auto" publishes none, for each
table and ε: in how many of them `predict_proba` gives a probability of each label, of which the largest is that of
`predict`, and how good they are. Then the price of the counts at the leaves: `draws` trees at the ε that the counts
leave, less as many at all of ε on the same coins. `page` writes the table of docs/classifier-results.md.

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

from benchmarks.accuracy import DATA, markdown, read_cases, seed_of, wide_console, write_json
from benchmarks.classifiers import PAGE
from benchmarks.pages import put_between
from benchmarks.tables import TABLES, Task, load
from pcqr import AssumePublic, PrivateClassifier
from pcqr.data.records import InMemory
from pcqr.datasets import load_adult
from pcqr.hypotheses import DecisionTrees
from pcqr.mechanisms import inverse_temperature_for
from pcqr.models import PublishedModel
from pcqr.planner.request import Request
from pcqr.plotting.axes import INK, LINE, MUTED, PUBLISHED, SMALL, entitle, mark_in_percent, note, picture, tidy
from pcqr.privacy.composition import parts_of
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import Chooser
from pcqr.releases.classifier.feature_maps import linear_predicates, make_feature_map
from pcqr.releases.classifier.planning import Maps, plan_published
from pcqr.releases.classifier.rule import Choice, choose, rarest_for, recipe_for
from pcqr.releases.classifier.run import publish
from pcqr.releases.protocol.plan import Budget
from pcqr.releases.protocol.stages import DrawStage

EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-6
PUBLIC, BINS = 2_000, 10

TABLE_EPSILONS = (0.03, 0.1, 0.3, 1.0)
METHODS: tuple[Choice, ...] = ("auto", "tree")

RESULTS = Path("benchmarks/results/calibration.json")
TABLE_RESULTS = Path("benchmarks/results/calibration_tables.json")
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
        return calibration_error(self.bins)

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
    options.add_argument("verb", nargs="?", choices=("adult", "tables", "page"), default="adult")
    options.add_argument("--data", type=Path, default=DATA, help="the folder of the Parquet files")
    options.add_argument("--tables", default=",".join(TABLES), help="some of them, with commas")
    options.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in TABLE_EPSILONS))
    options.add_argument("--fits", type=int, default=5)
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--fast", action="store_true", help="ε = 0.1 alone, and nothing is written")
    options.add_argument("--redraw", action="store_true", help="draw the stored results anew")
    given = options.parse_args()
    if given.verb == "tables":
        measure_tables(given)
    elif given.verb == "page":
        put_between(PAGE, "calibration", markdown(TABLE_HEADER, [case.row() for case in stored().values()]))
    else:
        of_adult(given)


def of_adult(given: argparse.Namespace) -> None:
    """A linear classifier on Adult, and its pictures."""
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


def calibration_error(bins: Sequence[tuple[int, float, float]]) -> float:
    """The expected calibration error: |mean probability − share|, weighed by the rows of a bin."""
    total = sum(rows for rows, _, _ in bins)
    return sum(rows * abs(said - seen) for rows, said, seen in bins) / total


# All tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Fits of one method on a table at one ε: means of their figures. Of trees also the price of the counts."""

    table: str
    records: int
    epsilon: float
    method: str
    published: str
    fits: int
    answered: int
    """In how many of the fits there are probabilities."""
    accuracy: float
    error: float
    log_loss: float
    constant: float
    draws: int = 0
    lead: float = 0.0
    """Mean accuracy with counts less that without, in points, and its standard error."""
    spread: float = 0.0

    @property
    def key(self) -> tuple[str, float, str]:
        return self.table, self.epsilon, self.method

    def row(self) -> list[str]:
        price = f"{self.lead:+.3f} ±{self.spread:.3f} ({self.draws})" if self.draws else ""
        return [
            *(self.table, f"{self.epsilon:g}", f"`{self.method}`", self.published, f"{self.answered} of {self.fits}"),
            *(f"{100 * self.accuracy:.2f}", price, f"{100 * self.error:.1f}"),
            *(f"{self.log_loss:.3f}", f"{self.constant:.3f}"),
        ]


TABLE_HEADER = [
    *("table", "ε", "method", "publishes", "probabilities in", "accuracy %", "lead on trees without them (draws)"),
    *("calibration error, points", "log-loss", "one probability for all"),
]


def measure_tables(given: argparse.Namespace) -> None:
    """Measure table by table, and store every case as soon as it is there."""
    console = wide_console()
    for name in given.tables.split(","):
        task = load(name, given.data)
        for epsilon in map(float, given.epsilons.split(",")):
            alone = not choose(task.y.size, epsilon).maps
            for method in METHODS[:1] if alone else METHODS:
                case = of_table(task, epsilon, method, given.fits, given.draws)
                store(case)
                console.print(" | ".join(case.row()), highlight=False)


def of_table(task: Task, epsilon: float, method: Choice, fits: int, draws: int) -> Case:
    """Fit so many times and compare what is said with what is so."""
    figures, answered, published = [], 0, ""
    for run in range(fits):
        seed = seed_of(task.name, epsilon, method, run)
        classifier = PrivateClassifier(epsilon, DELTA, method=method, entropy=seed, classes=(0, 1))
        classifier.fit(task.X, task.y, public=AssumePublic(task.public))
        published, said = classifier.method_, classifier.predict_proba(task.X_test)
        labels = classifier.predict(task.X_test)
        answered += bool(np.allclose(said.sum(axis=1), 1.0) and np.all(said.argmax(axis=1) == labels))
        error = calibration_error(binned(said[:, 1], task.y_test))
        figures.append((np.mean(labels == task.y_test), error, log_loss(said[:, 1], task.y_test)))
    accuracy, error, loss = (float(np.mean(column)) for column in zip(*figures, strict=True))
    constant = log_loss(np.full(task.y_test.size, task.y_test.mean()), task.y_test)
    lead, spread = price(task, epsilon, draws) if published == "tree" else (0.0, 0.0)
    shown = (task.name, task.y.size, epsilon, method, published, fits, answered, accuracy, error, loss, constant)
    return Case(*shown, draws if published == "tree" else 0, lead, spread)


def price(task: Task, epsilon: float, draws: int) -> tuple[float, float]:
    """Mean accuracy of trees at the ε that counts leave, less that of trees at all of ε, and its standard error."""
    (n, columns), learner = task.X.shape, PrivateClassifier(epsilon, DELTA, method="tree", classes=(0, 1))
    known = learner.dry_run(n, task.public)
    trees, (draw,) = known.hypotheses, parts_of(known.plan.stage, DrawStage)
    if not isinstance(trees, DecisionTrees):
        raise AssertionError("A tree is planned.")
    counted = trees.count_on(InMemory(task.X, task.y))

    def accuracies(eta: float) -> Floats:
        coins = (Chooser(SeededEntropy(seed_of(task.name, epsilon, run))) for run in range(draws))
        right = [tree.predict(task.X_test) == task.y_test for tree in trees.draws_from(counted, eta, coins)]
        shares: Floats = 100.0 * np.mean(right, axis=1)
        return shares

    whole = inverse_temperature_for(trees, epsilon, records=n, features=columns)
    leads = accuracies(draw.inverse_temperature) - accuracies(whole)
    return float(leads.mean()), float(leads.std(ddof=1) / np.sqrt(draws))


def stored() -> dict[tuple[str, float, str], Case]:
    return {case.key: case for case in read_cases(TABLE_RESULTS, Case)}


def store(new: Case) -> None:
    cases = {**stored(), new.key: new}.values()
    order = sorted(cases, key=lambda each: (TABLES.index(each.table), each.epsilon, each.method))
    write_json(TABLE_RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in order])


# The picture ---------------------------------------------------------------------------------------------------------


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
