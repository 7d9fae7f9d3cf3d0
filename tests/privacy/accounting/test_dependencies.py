"""The traps of the libraries underneath: what they do, and that our figures and our noise are not caught in them.

The tests that show a fault of a library hold for the versions that the project allows. Should one of them fail after an
upgrade, the fault may be mended: read the note in proofs/accounting.md before widening the versions.
"""

from __future__ import annotations

import importlib.metadata
import math
import tomllib
from pathlib import Path
from typing import Any

import dp_accounting
import opendp.prelude as dp
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from packaging.requirements import Requirement

from pcqr.privacy.accounting import GaussianEvent, PureEvent, Repeated, compose
from pcqr.privacy.entropy import SystemEntropy
from pcqr.privacy.noise import discrete_gaussian, discrete_laplace, geometric

ROOT = Path(__file__).parents[3]
DELTA = 1e-6
REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE


def requirements() -> list[Requirement]:
    """Everything that the project asks for, its extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


@pytest.mark.parametrize(("name", "refused"), [("opendp", "0.9.2"), ("opendp", "0.13.0"), ("dp-accounting", "0.7.0")])
def test_the_resolver_can_fall_back_to_no_other_release(name: str, refused: str) -> None:
    """A lower bound makes a resolver fail instead of downgrading: no check at run time is needed."""
    (wanted,) = (line for line in requirements() if line.name == name)
    assert not wanted.specifier.contains(refused)
    assert wanted.specifier.contains(importlib.metadata.version(name))
    assert wanted.specifier.contains(constraints()[name])


def test_the_count_of_a_randomised_response_is_forgotten_there_and_counted_here() -> None:
    epsilon = math.log(3.0)
    coin = dp_accounting.RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)  # truth 3/4, lie 1/4
    theirs = [PLDAccountant(REPLACE_ONE).compose(coin, count).get_epsilon(DELTA) for count in (1, 10)]
    assert theirs[0] == theirs[1], "dp-accounting has begun to count"
    looped = PLDAccountant(REPLACE_ONE)
    for _ in range(10):
        looped.compose(coin)
    ours = compose([Repeated(PureEvent(epsilon), 10)], DELTA, accountant="PLD").epsilon
    assert ours == pytest.approx(looped.get_epsilon(DELTA), rel=1e-4)
    assert ours > 9 * theirs[1]


@pytest.mark.parametrize("sigma", [1.0, 4.0, 30.0])
def test_sensitivity_is_doubled_there_in_one_accountant_and_here_in_none(sigma: float) -> None:
    def theirs(accountant: Any, relation: Any) -> float:
        noisy = dp_accounting.GaussianDpEvent(sigma)
        return float(accountant(neighboring_relation=relation).compose(noisy).get_epsilon(DELTA))

    pld, renyi = (compose([GaussianEvent(sigma)], DELTA, accountant=name).epsilon for name in ("PLD", "Rényi"))
    halved = compose([GaussianEvent(sigma / 2.0)], DELTA, accountant="PLD").epsilon
    assert theirs(PLDAccountant, REPLACE_ONE) == pytest.approx(halved, rel=1e-3)
    assert theirs(RdpAccountant, REPLACE_ONE) == pytest.approx(renyi, rel=0.02)
    assert theirs(PLDAccountant, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE) == pytest.approx(pld, rel=1e-3)
    assert 0.8 * renyi < pld < renyi < halved  # one convention: the exact curve lies a little below the moments'


def test_a_plain_int_is_short_there_and_noise_is_not_short_here() -> None:
    """At this scale one draw stays within 32 bits with chance below 2⁻¹³: five in a row, below 2⁻⁶⁵."""
    assert str(dp.atom_domain(T=int)) == "AtomDomain(T=i32)"
    for noise in (discrete_laplace, discrete_gaussian, geometric):
        assert max(abs(noise(2.0**45, SystemEntropy())) for _ in range(5)) > 2**31
