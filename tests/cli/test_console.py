"""What every command says while it works."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress

from pcqr.cli.console import field_table, stages
from pcqr.progress import tracked


def test_stages_of_a_long_fit_are_counted_one_after_the_other() -> None:
    seen = []
    with Progress(disable=True) as bar:
        with stages(bar, "fitting"):
            assert bar.tasks[0].total is None
            for stage, parts in (("teachers", 3), ("steps", 2)):
                for _ in tracked(stage, range(parts)):
                    task = bar.tasks[0]
                    seen.append((task.description, task.completed, task.total))
        assert (bar.tasks[0].description, bar.tasks[0].finished) == ("fitting", True)
    assert seen == [("fitting: teachers", done, 3) for done in range(3)] + [
        ("fitting: steps", done, 2) for done in range(2)
    ]


def test_a_long_path_is_broken_and_not_cut() -> None:
    path = "/".join(["folder"] * 20)
    console = Console(width=40, record=True, file=None)
    with console.capture() as shown:
        console.print(field_table({"answers": path}))
    assert path in "".join(shown.get().split()).removeprefix("answers")
