"""The auditor on mechanisms whose ε is known: it gets near, it does not exceed, it flags what is worse than claimed."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import pytest

from pcqr.audit.broken.votes import VOTE_BUGS
from pcqr.audit.statistical import Subject, audit, observe, processes, shipped_subjects
from pcqr.errors import ParameterError
from pcqr.privacy.entropy import Entropy, SystemEntropy
from pcqr.privacy.guarantee import Guarantee

LEVEL = 1e-9
"""Tests must not fail by chance."""


@dataclass(frozen=True)
class RandomisedResponse:
    """The truth with probability 3/4: ln 3, attained by either outcome."""

    def __call__(self, truth: int, entropy: Entropy) -> int:
        return truth if entropy.below(4, 1)[0] else 1 - truth


@dataclass(frozen=True)
class Fails:
    def __call__(self, secret: int, entropy: Entropy) -> int:  # noqa: ARG002
        raise ValueError(f"{secret} is not allowed")


def response(claimed: float, delta: float = 0.0) -> Subject:
    return Subject("randomised response", Guarantee(claimed, delta), RandomisedResponse(), 0, 1)


def test_the_bound_is_near_the_truth_and_below_it() -> None:
    (audited,) = audit([response(math.log(3.0))], runs=20_000, level=LEVEL)
    assert 0.8 < audited.epsilon <= math.log(3.0)
    assert not audited.refutes(Guarantee(math.log(3.0)))
    assert audited.refutes(Guarantee(0.8))
    assert audited.runs == 20_000
    assert audited.hits + audited.others == pytest.approx(10_000, abs=600)


def test_delta_is_granted() -> None:
    (granted,) = audit([response(1.0, delta=0.5)], runs=10_000, level=LEVEL)
    assert granted.epsilon == 0.0, "(3/4 − 1/2) / (1/4) is 1"


def test_neighbours_that_look_the_same_give_nothing() -> None:
    (nothing,) = audit([Subject("same", Guarantee(0.0), RandomisedResponse(), 0, 0)], runs=4000, level=LEVEL)
    assert nothing.epsilon == 0.0


def test_the_choice_of_the_event_and_its_judgement_do_not_share_runs() -> None:
    """Every outcome is new: chosen on the runs that judge it, an event would hold all of one side's outcomes."""
    (audited,) = audit([Subject("noise", Guarantee(0.0), _word, 0, 1)], runs=2000, level=0.5)
    assert (audited.hits, audited.others) == (0, 0)


def _word(_: int, entropy: Entropy) -> Hashable:
    return int(entropy.words(1)[0])


def test_an_exception_is_an_outcome_with_its_text() -> None:
    assert observe(Fails(), 7, SystemEntropy()) == ("raised", "ValueError", "7 is not allowed")
    (audited,) = audit([Subject("fails", Guarantee(1.0), Fails(), 7, 8)], runs=200, level=1e-3)
    assert audited.refutes(Guarantee(1.0))


def test_several_processes_count_every_run_once() -> None:
    subject = VOTE_BUGS[0].broken  # of the library: another process must find its class
    heard: list[int] = []
    with processes(2) as submit:
        first, second = audit([subject, subject], runs=1001, level=LEVEL, submit=submit, advance=heard.append)
    assert first.runs == second.runs == 1000, "two halves of 500"
    assert sum(heard) == 2 * 2 * 1000
    assert first.hits != 0


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="runs"):
        audit([], runs=1, level=0.1)
    with pytest.raises(ParameterError, match="level"):
        audit([], runs=10, level=0.0)


@pytest.mark.parametrize("subject", shipped_subjects(full=True), ids=lambda subject: subject.name)
def test_shipped_subjects_run_and_leave_something_open(subject: Subject) -> None:
    """Their claims are judged in tests/cli/test_audit.py, which runs the whole audit."""
    for data in (subject.first, subject.second):
        seen: set[object] = set()
        for run in range(3_000):
            seen.add(observe(subject.mechanism, data, SystemEntropy()))
            if run >= 60 and len(seen) > 1:
                break
        assert len(seen) > 1, "an outcome that is certain would be no test"
        assert all(isinstance(outcome, str) for outcome in seen), "nothing was raised"
