"""One tree of exceptions, one wording, public values only."""

from __future__ import annotations

import inspect
import pickle

import pytest

from pcqr import errors
from pcqr.errors import BudgetExhausted, DataError, InfeasiblePlan, MissingExtra, ParameterError, PcqrError, PcqrWarning
from pcqr.releases.protocol.answers import Answer, Usage


def test_every_exception_is_in_the_tree_of_the_docstring() -> None:
    defined = [item for _, item in inspect.getmembers(errors, inspect.isclass) if item.__module__ == errors.__name__]
    assert {PcqrError, PcqrWarning} < set(defined)
    for exception in defined:
        assert issubclass(exception, PcqrError | PcqrWarning)
        assert exception.__name__ in str(errors.__doc__)


@pytest.mark.parametrize("kind", [ParameterError, DataError])
def test_one_wording_names_the_parameter_the_allowed_and_the_received(kind: type[ParameterError | DataError]) -> None:
    error = kind("epsilon", "a positive number", "none")
    assert (error.name, error.allowed, error.received) == ("epsilon", "a positive number", "none")
    assert str(error).startswith("epsilon must be a positive number; received ")
    assert isinstance(error, ValueError)


def test_an_infeasible_plan_says_what_would_help() -> None:
    error = InfeasiblePlan("No k fits.", "n = 500")
    assert str(error) == "No k fits. Nearest feasible change: n = 500."
    assert (error.reason, error.needed) == ("No k fits.", "n = 500")


def test_a_spent_budget_carries_its_fields_and_the_answers_so_far() -> None:
    spent, remaining = Usage(queries=7, unstable=3), Usage(queries=None, unstable=0)
    answers = [Answer(label=1, kind="stable", spent=spent, remaining=remaining)]
    error = BudgetExhausted(spent=spent, requested=1, remaining=remaining, answers=answers)
    assert (error.spent, error.requested, error.remaining, error.answers) == (spent, 1, remaining, tuple(answers))
    assert str(error) == (
        "The release is exhausted: the unstable answers are used up. Spent: 7 queries and 3 unstable answers. "
        "Requested: 1 more query (1 before it was answered: see .answers). Remaining: 0 unstable answers. "
        "Queries asked before are still answered from the log at no cost."
    )
    several = str(BudgetExhausted(spent=spent, requested=2000, remaining=remaining, answers=answers * 2))
    assert "Requested: 2,000 more queries (2 before them were answered: see .answers). Remaining: " in several
    assert "Requested: 1 more query. Remaining: " in str(BudgetExhausted(spent=spent, requested=1, remaining=remaining))


def test_a_spent_number_of_queries_says_so() -> None:
    error = BudgetExhausted(spent=Usage(100, 1), requested=1, remaining=Usage(0, 4))
    assert "the planned queries are used up. Spent: 100 queries and 1 unstable answer. " in str(error)
    assert "Remaining: 0 queries and 4 unstable answers." in str(error)


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("epsilon", "positive", -1.0),
        DataError("X", "finite numbers", "NaN"),
        InfeasiblePlan("No.", "n = 5"),
        BudgetExhausted(spent=Usage(1, 1), requested=1, remaining=Usage(0, 0)),
        MissingExtra("A picture", "plot"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_the_way_back_from_a_worker_process(error: PcqrError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
