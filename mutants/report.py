"""What came of it: results as JSON, a table by room, the list of survivors, and the page that shows both."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from benchmarks.pages import put_between
from mutants.patterns import Change
from mutants.runner import Verdict
from mutants.selection import HERE, ROOMS, ROOT, Explanations

RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "mutants.md"


@dataclass(frozen=True)
class Result:
    """A change and the test that failed on it; None: it survived."""

    name: str
    room: str
    place: str
    operator: str
    old: str
    new: str
    why: str
    caught_by: str | None

    @classmethod
    def of(cls, change: Change, verdict: Verdict) -> Result:
        place = f"{change.path} {change.function}".strip()
        return cls(
            change.name, change.room, place, change.operator, change.old, change.new, change.why, verdict.caught_by
        )


def line(change: Change) -> str:
    return f"{change.name}  {change.path}:{change.line} {change.operator}: {_short(change.old)} → {_short(change.new)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 70 else f"{flat[:67]}…"


def read() -> list[Result]:
    return [Result(**entry) for entry in json.loads(RESULTS.read_text(encoding="utf-8"))] if RESULTS.exists() else []


def write(results: list[Result]) -> None:
    text = json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def table(results: list[Result], explanations: Explanations) -> str:
    """Rooms, changes and how many were caught, in Markdown; then each survivor with its explanation."""
    rows = ["| room | changes | caught | survivors |", "| --- | --- | --- | --- |"]
    rooms = {room: [result for result in results if result.room == room] for room in ROOMS}
    for room, own in [*rooms.items(), ("**all**", results)]:
        if own:
            caught = sum(result.caught_by is not None for result in own)
            rows.append(f"| {room} | {len(own)} | {caught} | {len(own) - caught} |")
    caught = sum(result.caught_by is not None for result in results)
    rows += ["", f"{caught} of {len(results)} changes were caught ({100 * caught / max(1, len(results)):.1f} %).", ""]
    for result in results:
        if result.caught_by is None:
            why = explanations.survivors.get(result.name, "**not explained**")
            rows.append(f"- `{result.name}` {result.place}: `{_short(result.old)}` → `{_short(result.new)}`. {why}")
    return "\n".join(rows).rstrip()


def write_page(results: list[Result], explanations: Explanations) -> None:
    put_between(PAGE, "results", table(results, explanations))
