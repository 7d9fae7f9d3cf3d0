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
    """The test that failed on a change; None: it survived. `rests_on` is a hash of the code and of that test."""

    caught_by: str | None
    rests_on: str | None

    @classmethod
    def of(cls, change: Change, verdict: Verdict) -> Result:
        return cls(verdict.caught_by, fingerprint(change, verdict.caught_by))

    def is_of(self, change: Change) -> bool:
        """Was `change` judged on the code as it stands, by a test as it stands?"""
        return self.rests_on is not None and self.rests_on == fingerprint(change, self.caught_by)


Results = Mapping[str, Result]
"""By the names of the changes: `python -m mutants --list` says what each name stands for."""


def line(change: Change) -> str:
    return f"{change.name}  {change.path}:{change.line} {change.operator}: {_short(change.old)} → {_short(change.new)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 70 else f"{flat[:67]}…"


def read() -> dict[str, Result]:
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return {name: Result(**result) for name, result in stored.items()}


def current(selection: Sequence[Change], stored: Results) -> list[Change]:
    """The changes of `selection` that have a result of the code as it stands."""
    return [change for change in selection if change.name in stored and stored[change.name].is_of(change)]


def write(selection: Sequence[Change], stored: Results, explanations: Explanations) -> None:
    """Keep the results of the changes in `selection`, and show them on the page."""
    results = {change.name: asdict(stored[change.name]) for change in selection if change.name in stored}
    RESULTS.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    put_between(PAGE, "results", f"{_standing(selection, stored)}\n\n{table(selection, stored, explanations)}")


def _standing(selection: Sequence[Change], stored: Results) -> str:
    """How many results are of the code as it stands, and at which commit."""
    count = len(current(selection, stored))
    return f"At commit {_commit()}, {count} of {len(selection)} changes have a result of the code as it stands."


def _commit() -> str:
    """The last commit's short name; one without the version control is not known."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return told.stdout.strip() or "unknown"


def table(selection: Sequence[Change], stored: Results, explanations: Explanations) -> str:
    """Rooms, changes and how many were caught, in Markdown; then every survivor with its explanation."""
    judged = [change for change in selection if change.name in stored]
    alive = [change for change in judged if stored[change.name].caught_by is None]
    rows = ["| room | changes | caught | survivors | equivalent |", "| --- | --- | --- | --- | --- |"]

    def counts(made: Sequence[Change]) -> tuple[int, int, int, int]:
        """(changes that matter, caught, survivors, equivalent ones). An equivalent one that is caught counts as one."""
        left = [change for change in made if change in alive]
        equivalent = sum(change.name in explanations.equivalent for change in left)
        return len(made) - equivalent, len(made) - len(left), len(left) - equivalent, equivalent

    rooms = {room: [change for change in judged if change.room == room] for room in ROOMS}
    for room, own in [*rooms.items(), ("**all**", judged)]:
        if own:
            rows.append(f"| {room} | {' | '.join(map(str, counts(own)))} |")
    real, caught, _, equivalent = counts(judged)
    share = f"{caught} of {real} changes were caught ({100 * caught / max(1, real):.1f} %)"
    rows += ["", f"{share}; {equivalent} more are equivalent: no figure, draw or refusal changes.", ""]
    for change in sorted(alive, key=lambda change: change.name in explanations.equivalent):
        why = explanations.of(change.name) or "**Not explained.**"
        kind = "equivalent" if change.name in explanations.equivalent else "survivor"
        place = f"{change.path} {change.function}".strip()
        rows.append(f"- {kind} {change.name}, {place}: `{_short(change.old)}` → `{_short(change.new)}`. {why}")
    return "\n".join(rows).rstrip()
