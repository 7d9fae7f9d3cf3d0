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


def write(results: list[Result], explanations: Explanations) -> None:
    """Store `results` and show them on the page."""
    text = json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    put_between(PAGE, "results", table(results, explanations))


def table(results: list[Result], explanations: Explanations) -> str:
    """Rooms, changes and how many were caught, in Markdown; then every survivor with its explanation."""
    rows = ["| room | changes | caught | survivors | equivalent |", "| --- | --- | --- | --- | --- |"]
    rooms = {room: [result for result in results if result.room == room] for room in ROOMS}
    for room, own in [*rooms.items(), ("**all**", results)]:
        if own:
            rows.append(f"| {room} | {' | '.join(map(str, _counts(own, explanations)))} |")
    real, caught, _, equivalent = _counts(results, explanations)
    share = f"{caught} of {real} changes were caught ({100 * caught / max(1, real):.1f} %)"
    rows += ["", f"{share}; {equivalent} more are equivalent: no figure, draw or refusal changes.", ""]
    alive = [result for result in results if result.caught_by is None]
    for result in sorted(alive, key=lambda result: result.name in explanations.equivalent):
        why = explanations.of(result.name) or "**Not explained.**"
        kind = "equivalent" if result.name in explanations.equivalent else "survivor"
        change = f"`{_short(result.old)}` → `{_short(result.new)}`"
        rows.append(f"- {kind} {result.name}, {result.place}: {change}. {why}")
    return "\n".join(rows).rstrip()


def _counts(results: list[Result], explanations: Explanations) -> tuple[int, int, int, int]:
    """(changes that matter, caught, survivors, equivalent ones). An equivalent one that is caught counts as one."""
    caught = sum(result.caught_by is not None for result in results)
    equivalent = sum(result.caught_by is None and result.name in explanations.equivalent for result in results)
    return len(results) - equivalent, caught, len(results) - equivalent - caught, equivalent
