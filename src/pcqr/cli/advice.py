"""The first thing that `pcqr plan` says: what to run, what to expect of it, what else there is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pcqr.advice.advice import Advice, Advised, Situation, bought_in_words, strengths
from pcqr.advice.measured import Measured
from pcqr.cli.console import EXAMPLES, field_table, lines_for, python_for
from pcqr.privacy.guarantee import Guarantee

_NEEDS = {
    "public rows": "public rows without labels",
    "schema": "a schema: the columns, their categories and bounds (pcqr schema makes one from public rows)",
    "queries": "all queries beforehand, as public rows",
    None: "nothing but the records and the queries",
}
_NEEDS_NOTHING = "nothing public but the columns and their kinds: --types, or the types of a Parquet file"

_NOT_MEASURED = "not measured below ten times this n·ε"


def advice_object(advice: Advice) -> dict[str, Any]:
    """For --json; every key is documented in docs/planning.md."""
    situation = advice.situation
    return {
        "situation": asdict(situation),
        "recommended": _object(advice.best, situation) | {"reason": advice.reason},
        "bought": _bought(situation) if advice.buys else None,
        "alternatives": [_object(other, situation) for other in advice.others],
        "notes": list(_notes(advice)),
        "shortfall": advice.shortfall,
    }


def _bought(situation: Situation) -> dict[str, Any]:
    recipe = situation.recipe
    shares = {} if recipe is None else {name: getattr(recipe, name) for name in ("cuts", "counts", "categories")}
    return {
        "public_grid": recipe is None,
        "cuts_a_number": 0 if recipe is None else recipe.cuts_a_number,
        "shares_of_mu": shares,
        "remaining": 1.0 if recipe is None else recipe.remaining(),
    }


def _object(advised: Advised, situation: Situation) -> dict[str, Any]:
    found = advised.measured
    return {
        "way": advised.way.words,
        "estimator": advised.way.algorithm.estimator_name,
        "commands": list(lines_for(advised, situation)),
        "python": python_for(advised, situation),
        "needs": advised.source,
        "measured": None
        if found is None
        else {
            "loss": found.loss,
            "gain": found.gain,
            "unanswered": found.unanswered,
            "cells": len(found.cells),
            "tables": found.tables,
            "n_times_epsilon": found.strength,
            "extrapolated": found.extrapolated,
            "with_public_rows": not advised.alike,
        },
    }


def print_advice(console: Console, advice: Advice) -> None:
    best, situation = advice.best, advice.situation
    console.print(Text(f"Recommended: {best.way.words} ({best.way.algorithm.estimator_name})", style="bold green"))
    if advice.shortfall is not None:
        console.print(Text.assemble(("But: ", "bold yellow"), advice.shortfall))
    console.print()
    for line in lines_for(best, situation):
        console.print(f"  {line}", soft_wrap=True, markup=False)
    console.print(f"  ({EXAMPLES})", style="dim", soft_wrap=True)
    console.print()
    fields = {
        "expected": _NOT_MEASURED if best.measured is None else _expected(best.measured, best.alike),
        **({"buys": bought_in_words(situation)} if advice.buys else {}),
        "costs": _costs(best, situation),
        "needs": _NEEDS_NOTHING if advice.buys else _NEEDS[best.source],
        "why": advice.reason,
    }
    console.print(field_table(fields))
    console.print()
    console.print(_table(advice))
    shown = (best, *advice.others)
    if not all(advised.alike or advised.measured is None for advised in shown):
        console.print("* measured with public rows, which a schema or queries do not quite replace", style="dim")
    if any(advised.measured is not None and advised.measured.extrapolated for advised in shown):
        console.print("† nothing was measured at this n·ε; these are the nearest cells", style="dim")
    console.print()
    for other in advice.others:
        for line in lines_for(other, situation)[:1] or (f"Python only: {python_for(other, situation)}",):
            console.print(Text.assemble((f"{other.way.words}\n", "bold"), f"  {line}"), soft_wrap=True)
    for note in _notes(advice):
        console.print()
        console.print(Text.assemble(("Note. ", "bold"), note))


def _notes(advice: Advice) -> tuple[str, ...]:
    """Return the notes of the advice, and whether the command needs --accept-weak-guarantee."""
    situation = advice.situation
    delta = 0.0 if advice.best.way.algorithm.pure else situation.delta
    caveats = Guarantee(situation.epsilon, delta).caveats(situation.records)
    if not caveats:
        return advice.notes
    return (*advice.notes, f"{' '.join(caveats)} The command needs --accept-weak-guarantee.")


def _expected(found: Measured, alike: bool) -> str:
    """In points of accuracy: what was lost against boosting, what was gained over the more common label, and where."""
    where = f"{len(found.cells)} runs on {len(found.tables)} tables ({', '.join(found.tables)}) with n·ε = "
    where += strengths(found) + (" and public rows" if not alike else "")
    lead = "Nothing was measured at this n·ε; nearest: " if found.extrapolated else ""
    return (
        f"{lead}accuracy {_points(found.loss)} points below gradient boosting without privacy on the same records, "
        f"{_points(found.gain)} points above always giving the more common label; measured in {where}. No bound: "
        "another table may do better or worse."
    )


def _costs(advised: Advised, situation: Situation) -> str:
    privacy = f"ε = {situation.epsilon:g}"
    privacy += "" if advised.way.algorithm.pure else f", δ = {situation.delta:g}"
    return f"{privacy}, once, for " + (
        "the answers until it is exhausted" if advised.way.ends else "any number of queries"
    )


def _points(ends: tuple[float, float]) -> str:
    low, high = (f"{round(100.0 * end, 1) + 0.0:.1f}".replace("-", "−") for end in ends)  # + 0: no −0.0
    return low if low == high else f"{low} to {high}"


def _table(advice: Advice) -> Table:
    title = "All ways, as measured: points of accuracy (an unanswered query counts as a coin)"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("n·ε", "below boosting", "unanswered"):
        table.add_column(column, justify="right")
    table.add_column("privacy")
    for advised in (advice.best, *advice.others):
        found = advised.measured
        privacy = "ε alone" if advised.way.algorithm.pure else "ε and δ"
        if found is None:
            table.add_row(advised.way.words, "not measured", "–", "–", privacy)
            continue
        unanswered = "none" if advised.way.at_once else _points(found.unanswered) + " %"
        table.add_row(
            advised.way.words,
            strengths(found),
            _points(found.loss) + " *" * (not advised.alike) + " †" * found.extrapolated,
            unanswered,
            privacy,
        )
    return table
