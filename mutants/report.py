"""What came of it: results as JSON, a table by room, the list of survivors, and the page that shows both."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.pages import put_between
from mutants.code import fingerprint
from mutants.patterns import Change
from mutants.runner import Verdict
from mutants.selection import HERE, ROOMS, ROOT, Explanations

RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "mutants.md"


@dataclass(frozen=True)
class Result:
    """A change and the test that failed on it; None: it survived. `rests_on` is a hash of the code and of that test."""

    name: str
    room: str
    place: str
    operator: str
    old: str
    new: str
    why: str
    caught_by: str | None
    rests_on: str | None = None

    @classmethod
    def of(cls, change: Change, verdict: Verdict) -> Result:
        place = f"{change.path} {change.function}".strip()
        told = (change.operator, change.old, change.new, change.why, verdict.caught_by)
        return cls(change.name, change.room, place, *told, fingerprint(change, verdict.caught_by))

    def is_of(self, change: Change) -> bool:
        """Was `change` judged on the code as it stands, by a test as it stands?"""
        return self.rests_on is not None and self.rests_on == fingerprint(change, self.caught_by)


def line(change: Change) -> str:
    return f"{change.name}  {change.path}:{change.line} {change.operator}: {_short(change.old)} → {_short(change.new)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 70 else f"{flat[:67]}…"


def read() -> list[Result]:
    return [Result(**entry) for entry in json.loads(RESULTS.read_text(encoding="utf-8"))] if RESULTS.exists() else []


def current(selection: Sequence[Change], stored: Mapping[str, Result]) -> list[Change]:
    """The changes of `selection` that have a result of the code as it stands."""
    return [change for change in selection if change.name in stored and stored[change.name].is_of(change)]


def write(selection: Sequence[Change], stored: Mapping[str, Result], explanations: Explanations) -> None:
    """Keep the results of the changes in `selection`, and show them on the page."""
    results = [stored[change.name] for change in selection if change.name in stored]
    text = json.dumps([asdict(result) for result in results], ensure_ascii=False, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    put_between(PAGE, "results", f"{_standing(selection, stored)}\n\n{table(results, explanations)}")


def _standing(selection: Sequence[Change], stored: Mapping[str, Result]) -> str:
    """How many results are of the code as it stands, and at which commit."""
    count = len(current(selection, stored))
    return f"At commit {_commit()}, {count} of {len(selection)} changes have a result of the code as it stands."


def _commit() -> str:
    """The last commit's short name; one without the version control is not known."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return told.stdout.strip() or "unknown"


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
