"""What a GPU takes off a fit, and whether it computes the same numbers as the CPU, to the last bit.

    python -m benchmarks.gpu prepare --data FOLDER --to FOLDER     the inputs, in files
    python -m benchmarks.gpu cpu --from FOLDER --out FILE          what the CPU makes of them
    python -m benchmarks.gpu measure --from FOLDER --out FILE      the same on a GPU, where numpy and torch suffice
    python -m benchmarks.gpu page [--cpu FILE --gpu FILE …]        both compared; the tables of docs/scaling.md

Four tasks. *trees*: a tree of depth 5 on UCI Adult, 32,561 records and 86 predicates, counted and drawn. *linear*: a
linear classifier on covertype, class 2 against the rest, with 400 ferns of depth 13, as it is planned for ε = 1, with
noise that is handed in (whole numbers of about the planned size, by a public generator); how long its real noise takes
to draw is timed on the CPU. *classes*: the same for all seven classes of covertype, with as many ferns as are planned
for them. *votes*: large ensembles on Adult's rows. Both sides keep hashes of all that they make.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import InMemory, Records
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GRID
from pcqr.data.records.on_device import DeviceGradientSums, OnDevice
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.trees.decision_trees import drawn_tree
from pcqr.hypotheses.trees.partition import MistakeLaw, Node, PartitionFunction
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import Chooser
from pcqr.releases.classifier.plan import LinearStage, last_quarter

RESULTS = Path("benchmarks/results/gpu.json")
PAGE = Path("docs/scaling.md")
DEPTH, PREDICATES, ETA = 5, 86, 0.5
DRAWS = 20
TEACHERS, ASKED = 10_001, 10_000
LINEARS = {"linear": 2, "classes": 7}
"""The tasks with a linear classifier, and their number of classes."""
REPEATS = 3
TASKS = ("trees", "linear", "classes", "votes", "limits")
LARGEST_WEIGHT = 2.0**10

Integers = NDArray[np.int64]


class Watch:
    """Seconds since it was made, or since it was last asked. A device may have to be waited for.

    With `process_time` they are seconds of cores, all threads together: other work on the machine is not in them.
    """

    def __init__(self, wait: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._wait, self._clock, self._begin = wait, clock, clock()

    def __call__(self) -> float:
        self._wait()
        now = self._clock()
        passed, self._begin = now - self._begin, now
        return passed


def digest(*arrays: NDArray[Any]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def raw(seed: int, shape: tuple[int, ...]) -> NDArray[np.int16]:
    """Uniform 16-bit integers, the same on every machine."""
    words = np.random.PCG64(seed).random_raw(-(-int(np.prod(shape)) // 4))
    return words.view(np.int16)[: int(np.prod(shape))].reshape(shape)


def noise_of(step: int, size: int, scale: float) -> Integers:
    """Whole numbers with about this deviation: sums of four uniform ones. Not private, and nothing here is released."""
    total: Integers = raw(step, (size, 4)).sum(axis=1, dtype=np.int64)
    return total * round(scale / 37_837.0)


# What is computed, on either side -------------------------------------------------------------------------------------


def grown(records: Records, trees: DecisionTrees, watch: Watch) -> dict[str, Any]:
    """Count, weigh and draw: seconds of each part, and what came out."""
    counted = trees.count_on(records).counts
    found: dict[str, Any] = {"count": watch()}
    function = PartitionFunction(counted, MistakeLaw(counted, ETA, trees.stop))
    found["weigh"] = watch()
    asked = trees.predicates or ()
    first = drawn_tree(function, asked, Chooser(SeededEntropy(0)))
    found["draw"] = watch()
    others = [drawn_tree(function, asked, Chooser(SeededEntropy(seed))) for seed in range(1, DRAWS)]
    drawn = np.frombuffer(repr([first, *others]).encode(), dtype=np.uint8)
    return found | {"hashes": [digest(counted.table), digest(function.log_weights(Node(), DEPTH)), digest(drawn)]}


def taught(
    records: Records, features: FeatureMap, plan: dict[str, Any], noise: Iterator[Integers], watch: Watch
) -> dict[str, Any]:
    """The linear classifier's descent with `noise` handed in."""
    sums = records.gradient_sums(features, plan["bound"])
    found: dict[str, Any] = {"vectors": watch()}
    rate, momentum = plan["rate"], plan["momentum"]
    if isinstance(sums, DeviceGradientSums):
        descent = sums.descent(np.zeros((plan["blocks"], plan["coordinates"])), rate, momentum, LARGEST_WEIGHT)
        for step, drawn in enumerate(noise, start=1):
            descent.advance(descent.total(), drawn)
            if step > plan["steps"] - plan["kept"]:
                descent.keep()
        mean = descent.mean(plan["kept"])
    else:
        blocks = plan["blocks"]
        weights, velocity, average = np.zeros((3, blocks, plan["coordinates"]))
        for step, drawn in enumerate(noise, start=1):
            rounded = np.rint(weights * GRID).astype(np.int32)
            dense, cells = rounded[:, : features.size], rounded[:, features.size :]
            parts = sums.total(dense, cells.reshape(blocks, features.count, -1))
            noisy = np.concatenate([part.reshape(blocks, -1) for part in parts], axis=1) + drawn.reshape(blocks, -1)
            velocity = momentum * velocity + rate * noisy
            weights = np.clip(weights + velocity, -LARGEST_WEIGHT, LARGEST_WEIGHT)
            if step > plan["steps"] - plan["kept"]:
                average += weights
        mean = average / plan["kept"]
    return found | {"steps": watch(), "hashes": [digest(mean)]}


def ensembles(questions: NDArray[np.float64], features: int) -> dict[str, Any]:
    """Teachers by public coins: trees of depth 2 that ask `questions`, and linear classifiers."""
    which = raw(1, (TEACHERS, 3)).astype(np.int64) % len(questions)
    return {
        "columns": questions[which, 0].astype(np.int32),
        "cuts": questions[which, 1],
        "leaves": (raw(2, (TEACHERS, 4)) & 1).astype(np.int8),
        "weights": raw(3, (TEACHERS, 1, features)) / 2.0**15,
        "biases": raw(4, (TEACHERS, 1)) / 2.0**10,
    }


# Here ---------------------------------------------------------------------------------------------------------------


def prepare(data: Path, to: Path) -> None:
    from benchmarks import classes  # noqa: PLC0415
    from benchmarks.tables import load  # noqa: PLC0415
    from pcqr import PrivateClassifier  # noqa: PLC0415
    from pcqr.privacy.composition import parts_of  # noqa: PLC0415

    to.mkdir(parents=True, exist_ok=True)
    adult = load("adult", data)
    asked = (DecisionTrees(cuts=11).prepared(adult.public, None).predicates or ())[:PREDICATES]
    questions = np.array([(predicate.feature, predicate.cut) for predicate in asked])
    np.savez_compressed(to / "adult.npz", X=adult.X, y=adult.y, questions=questions)

    task, kinds = load("covertype", data), classes.load("covertype", data)
    short = task.X.astype(np.int16)
    assert (short == task.X).all()
    assert (task.X == kinds.X).all()
    np.savez_compressed(to / "covertype.npz", X=short, linear=task.y, classes=kinds.y)
    for name, labels in LINEARS.items():
        learner = PrivateClassifier(1.0, classes=tuple(range(labels)))
        found = learner.dry_run(len(task.y), task.public)
        (to / f"{name}.features.json").write_text(found.maps["mostly ferns"].to_json(), encoding="utf-8")
        stages = [stage for stage in parts_of(found.plan.stage, LinearStage) if stage.features == "mostly ferns"]
        plan = planned(stages[-1])  # the pilot is before it
        (to / f"{name}.plan.json").write_text(json.dumps(plan) + "\n", encoding="utf-8")


def planned(stage: LinearStage) -> dict[str, Any]:
    """What the descent needs of the plan, and the page."""
    return {
        "records": stage.records,
        "ferns": stage.ferns,
        "depth": stage.depth,
        "dense": stage.dense,
        "blocks": stage.blocks,
        "coordinates": stage.coordinates,
        "steps": stage.steps,
        "kept": last_quarter(stage.steps),
        "bound": stage.bound,
        "scale": stage.scale,
        "momentum": stage.momentum,
        "rate": stage.step_size / stage.sensitivity,
    }


@dataclass(frozen=True)
class LinearTask:
    """The records of a linear classifier, its feature map and its plan."""

    records: InMemory
    features: FeatureMap
    plan: dict[str, Any]

    def noise(self) -> Iterator[Integers]:
        size, scale = self.plan["blocks"] * self.plan["coordinates"], self.plan["scale"]
        return (noise_of(step, size, scale) for step in range(self.plan["steps"]))

    def taught(self, records: Records, noise: Iterator[Integers], watch: Watch) -> dict[str, Any]:
        return taught(records, self.features, self.plan, noise, watch)


@dataclass(frozen=True)
class Inputs:
    """What `prepare` wrote."""

    adult: InMemory
    questions: NDArray[np.float64]
    linears: dict[str, LinearTask]

    @classmethod
    def read(cls, folder: Path) -> Inputs:
        adult, covertype = np.load(folder / "adult.npz"), np.load(folder / "covertype.npz")
        X, linears = covertype["X"].astype(np.float64), {}
        for name, labels in LINEARS.items():
            features = FeatureMap.from_json((folder / f"{name}.features.json").read_text(encoding="utf-8"))
            plan = json.loads((folder / f"{name}.plan.json").read_text(encoding="utf-8"))
            linears[name] = LinearTask(InMemory(X, covertype[name], labels), features, plan)
        return cls(InMemory(adult["X"], adult["y"]), adult["questions"], linears)

    @property
    def trees(self) -> DecisionTrees:
        asked = tuple(Predicate(int(feature), float(cut)) for feature, cut in self.questions)
        return DecisionTrees(depth=DEPTH, predicates=asked)

    def ensembles(self) -> dict[str, Any]:
        return ensembles(self.questions, self.adult.width)


def on_the_cpu(inputs: Inputs) -> dict[str, Any]:
    from pcqr.hypotheses.descent import Planes  # noqa: PLC0415
    from pcqr.hypotheses.trees.committee import TreeCommittee  # noqa: PLC0415
    from pcqr.privacy.entropy import SystemEntropy  # noqa: PLC0415
    from pcqr.privacy.noise import discrete_gaussians  # noqa: PLC0415

    load, plan = os.getloadavg()[0], inputs.linears["linear"].plan
    few = inputs.adult.rows(np.arange(100))
    grown(
        few, replace(inputs.trees, predicates=(inputs.trees.predicates or ())[:20]), Watch(clock=time.process_time)
    )  # compiles
    discrete_gaussians(plan["scale"], 10**5, SystemEntropy())
    told: dict[str, Any] = {"trees": grown(inputs.adult, inputs.trees, Watch(clock=time.process_time))}
    watch = Watch(clock=time.process_time)
    for _ in range(5):
        discrete_gaussians(plan["scale"], plan["coordinates"], SystemEntropy())
    told["noise"] = watch() / 5 * plan["steps"]
    for name, task in inputs.linears.items():
        told[name] = task.taught(task.records, task.noise(), Watch(clock=time.process_time)) | {"plan": task.plan}
    many, rows = inputs.ensembles(), inputs.adult.X[:ASKED]
    committees = (
        TreeCommittee(many["columns"], many["cuts"], many["leaves"], inputs.adult.width, 2),
        Planes(many["weights"], many["biases"]),
    )
    for committee in committees:
        committee.counts(rows[:2])  # compiles
    watch = Watch(clock=time.process_time)
    counts = committees[0].counts(rows)
    seconds = {"trees": watch()}
    linear = committees[1].counts(rows)
    told["votes"] = seconds | {"linear": watch(), "hashes": [digest(counts), digest(linear)]}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, numpy {np.__version__}"
    return told | {"machine": f"{machine}; load average {load:.1f} before and {os.getloadavg()[0]:.1f} after"}


# There --------------------------------------------------------------------------------------------------------------


def measure(inputs: Inputs, device: str, tasks: Sequence[str]) -> dict[str, Any]:
    begin = time.perf_counter()
    import torch  # noqa: PLC0415

    from pcqr.gpu.counts import linear_votes, tree_votes  # noqa: PLC0415

    imported, on_gpu = time.perf_counter() - begin, device == "cuda"

    def watch() -> Watch:
        return Watch(torch.cuda.synchronize if on_gpu else lambda: None)

    first = Watch()
    torch.ones(8, device=device).sum().item()
    told: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if on_gpu else platform.machine(),
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}",
        "import_torch": imported,
        "first_use": first(),
    }
    if "trees" in tasks:
        adult = OnDevice(inputs.adult, device)
        told["trees"] = [grown(adult, inputs.trees, watch()) for _ in range(REPEATS)]
    for name in LINEARS.keys() & set(tasks):
        task = inputs.linears[name]
        noise, records = list(task.noise()), OnDevice(task.records, device)
        told[name] = [task.taught(records, iter(noise), watch()) for _ in range(REPEATS)]
    if "votes" in tasks:
        told["votes"] = []
        many, rows = inputs.ensembles(), inputs.adult.X[:ASKED]
        for _ in range(REPEATS):
            clock = watch()
            counts = tree_votes(rows, many["columns"], many["cuts"], many["leaves"], 2, device)
            seconds = {"trees": clock()}
            linear = linear_votes(rows, many["weights"], many["biases"], 2, device)
            told["votes"].append(seconds | {"linear": clock(), "hashes": [digest(counts), digest(linear)]})
    if "limits" in tasks:
        told["limits"] = limits(device)
    memory = torch.cuda.max_memory_allocated() if on_gpu else 0
    return told | {"memory": {"+".join(tasks): memory}}


def limits(device: str) -> dict[str, bool]:
    """Sizes at which something could overflow or round, against what must come out."""
    import torch  # noqa: PLC0415

    from pcqr.gpu.counts import count_conjunctions  # noqa: PLC0415
    from pcqr.gpu.linear import GradientSums  # noqa: PLC0415

    many = 2**24 + 5 if device == "cuda" else 2**13 + 5
    holds, labels = np.ones((many, 3), dtype=np.bool_), np.zeros(many, dtype=np.int8)
    counts = count_conjunctions([(holds, labels)], 3, 2, 3, device)
    sums = GradientSums(
        torch.full((many, 1), 32767, dtype=torch.int16, device=device),
        torch.full((1, many), -1, dtype=torch.int16, device=device),
        labels,
        share=128,
        bound=1 << 24,
        cell_length=(1 << 24) - 1,
        classes=2,
        depth=16,
        table=np.array([1 << 15, 0]),
    )
    total = sums.total(torch.zeros((1, 1 + 2**16), dtype=torch.int32, device=device)).cpu().numpy()[0]
    length = int(np.sqrt(128 * 2**48 / 256 / 32767**2))
    return {
        f"{many:,} records in which everything holds": bool((counts == [many, 0]).all()),
        f"{many:,} records in one cell of 65,536": int(total[-1]) == -many * (2**24 - 1) and not total[1:-1].any(),
        f"{many:,} dense vectors of the largest entry": int(total[0]) == -many * length * 32767,
    }


def page(cpu: Path | None, gpu: Sequence[Path]) -> None:
    from benchmarks.accuracy import markdown  # noqa: PLC0415
    from benchmarks.pages import put_between  # noqa: PLC0415

    if cpu is not None and gpu:
        parts_found = [json.loads(path.read_text(encoding="utf-8")) for path in gpu]
        memory = {name: size for part in parts_found for name, size in part["memory"].items()}
        joined = {name: value for part in parts_found for name, value in part.items()} | {"memory": memory}
        both = {"cpu": json.loads(cpu.read_text(encoding="utf-8")), "gpu": joined}
        RESULTS.write_text(json.dumps(both, indent=1) + "\n", encoding="utf-8")
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    here, there = found["cpu"], found["gpu"]
    plan, rows = here["linear"]["plan"], []
    for name, parts, words in (
        ("trees", ("count", "weigh", "draw"), f"a tree of depth {DEPTH} on Adult, {PREDICATES} predicates"),
        *((name, ("vectors", "steps"), _linear_words(name, here[name]["plan"])) for name in LINEARS),
        ("votes", ("trees",), f"votes of {TEACHERS:,} trees of depth 2 on {ASKED:,} rows"),
        ("votes", ("linear",), f"votes of {TEACHERS:,} linear classifiers on {ASKED:,} rows"),
    ):
        totals = [sum(run[part] for part in parts) for run in there[name]]
        best = there[name][int(np.argmin(totals))]
        split = ", ".join(f"{part} {best[part]:.2f}" for part in parts) if len(parts) > 1 else ""
        is_same = all(run["hashes"] == here[name]["hashes"] for run in there[name])
        on_cpu = sum(here[name][part] for part in parts)
        rows.append(
            [words, f"{totals[0]:.2f}", f"{min(totals):.2f}", split, f"{on_cpu:.1f}", "yes" if is_same else "NO"]
        )
    header = ("task", "first run, s", f"best of {REPEATS}, s", "its parts", "CPU, core seconds", "same to the last bit")
    put_between(PAGE, "gpu", markdown(header, rows))
    held = "; ".join(f"{name}: {'exact' if holds else 'WRONG'}" for name, holds in there["limits"].items())
    largest = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in there["memory"].items())
    told = (
        f"GPU: {there['device']} ({there['versions']}). Once a process, and not in the table: importing torch,",
        f"{there['import_torch']:.1f} s, and the first use of the device, {there['first_use']:.1f} s.",
        f"CPU: {here['machine']}. The real noise of the first linear classifier,",
        f"{plan['steps']} × {plan['coordinates']:,} draws from the operating system's randomness, takes",
        f"{here['noise']:.1f} core seconds there.",
        f"Most memory on the GPU: {largest}. At the limits: {held}.",
    )
    put_between(PAGE, "gpu machine", "\n".join(told))


def _linear_words(name: str, plan: dict[str, Any]) -> str:
    size = f"{plan['ferns']} ferns of depth {plan['depth']}, {plan['steps']} steps, noise handed in"
    return f"the linear classifier on covertype, {LINEARS[name]} classes, {size}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("command", choices=("prepare", "cpu", "measure", "page"))
    for name in ("--data", "--to", "--from", "--out", "--cpu"):
        parser.add_argument(name, type=Path, dest=name.strip("-").replace("from", "inputs"))
    parser.add_argument("--gpu", type=Path, nargs="*", default=())
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tasks", default=",".join(TASKS), help="which of them to measure in this process")
    given = parser.parse_args()
    if given.command == "prepare":
        prepare(given.data, given.to)
    elif given.command == "page":
        page(given.cpu, given.gpu)
    else:
        inputs, tasks = Inputs.read(given.inputs), given.tasks.split(",")
        found = on_the_cpu(inputs) if given.command == "cpu" else measure(inputs, given.device, tasks)
        text = json.dumps(found, indent=1)
        given.out.write_text(text + "\n", encoding="utf-8")
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
