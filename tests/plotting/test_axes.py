"""One style for all pictures: colours that everybody can tell apart and read, and nothing drawn beside it."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.errors import MissingExtra
from pcqr.plotting import axes as drawing
from pcqr.plotting.axes import (
    DASHED,
    INK,
    LABELS,
    MUTED,
    OTHERS,
    PUBLISHED,
    SUBSAMP,
    VOTES,
    WARNING,
    draw_without_privacy,
    fitted,
    in_powers,
    picture,
    spread_out,
    text_width,
    tint,
)

ROOT = Path(__file__).parents[2]
METHODS = (PUBLISHED, VOTES, SUBSAMP, OTHERS, INK, MUTED)

# Machado, Oliveira and Fernandes (2009), severity 1: what is left of a colour, in linear RGB.
SIGHT = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
PLAINLY_DIFFERENT = 20.0
"""In CIELAB; 2.3 is what can just be noticed."""


def linear(colour: str) -> NDArray[np.float64]:
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(light: NDArray[np.float64]) -> NDArray[np.float64]:
    share = TO_XYZ @ np.clip(light, 0, 1) / WHITE
    root = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("colour", [*METHODS, WARNING, *LABELS])
def test_text_in_every_colour_can_be_read(colour: str) -> None:
    """WCAG asks for 4.5 : 1."""
    assert 1.05 / (float(TO_XYZ[1] @ linear(colour)) + 0.05) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
def test_everybody_can_tell_the_methods_apart(sight: str) -> None:
    for first, second in itertools.combinations(METHODS, 2):
        seen = (lab(SIGHT[sight] @ linear(colour)) for colour in (first, second))
        assert float(np.linalg.norm(np.subtract(*seen))) >= PLAINLY_DIFFERENT, (first, second)


def test_no_picture_has_colours_or_sizes_of_its_own() -> None:
    own = re.compile(r"""["']\#[0-9a-fA-F]{6}|(fontsize|labelsize|font\.size["']?)\s*[=:]\s*[0-9]|plt\.|pyplot""")
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path != Path(str(drawing.__file__)) and path.name != "drawing.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if own.search(line)
    ]
    assert not found


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    for name in ("first.svg", "second.svg"):
        with picture(tmp_path / name, 3.0, 2.0) as figure:
            draw_without_privacy(figure.subplots(), 0.5, "without privacy")
    first, second = ((tmp_path / name).read_text(encoding="utf-8") for name in ("first.svg", "second.svg"))
    assert first == second
    assert "without privacy" in first


def test_a_picture_that_fails_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "never.svg", 3.0, 2.0):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_without_privacy_is_dashed_and_at_its_value(tmp_path: Path) -> None:
    with picture(tmp_path / "a.svg", 3.0, 2.0) as figure:
        axes = figure.subplots()
        draw_without_privacy(axes, 0.25)
        (line,) = axes.lines
        assert list(line.get_ydata()) == [0.25, 0.25]
        dashes: Any = line._unscaled_dash_pattern
        assert (dashes[0], tuple(dashes[1])) == DASHED


def test_nothing_is_imported_before_something_is_drawn() -> None:
    code = "import sys, pcqr.plotting.axes; sys.exit(any(name in sys.modules for name in ('matplotlib', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 (our own code)


def test_without_matplotlib_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="plot"), picture(tmp_path / "a.svg", 3.0, 2.0):
        pytest.fail("there is nothing to draw with")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1e-6, "10⁻⁶"),
        (3.9e-6, "3.9·10⁻⁶"),
        (0.05, "0.05"),
        (0.0, "0"),
        (2.0, "2"),
        (32_561, "32,561"),
        (1.3e6, "1.3·10⁶"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, told: str) -> None:
    assert in_powers(value) == told


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.2))
def test_names_beside_lines_do_not_meet(heights: list[float], gap: float) -> None:
    placed = spread_out(heights, gap)
    assert all(place >= height for place, height in zip(placed, heights, strict=True))
    order = sorted(placed)
    assert all(upper - lower >= gap * (1 - 1e-9) for lower, upper in itertools.pairwise(order))
    assert [placed[index] for index in np.argsort(heights, kind="stable")] == order


@example([0.0] * 6, 0.2)  # they just fit: sums from below and from above differ in the last bit
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.2))
def test_names_beside_lines_stay_below_the_top(heights: list[float], gap: float) -> None:
    placed = spread_out(heights, gap, highest=1.0)
    order = sorted(placed)
    assert order[-1] <= 1.0
    assert all(upper - lower >= gap * (1 - 1e-9) for lower, upper in itertools.pairwise(order))
    assert [placed[index] for index in np.argsort(heights, kind="stable")] == order
    if max(spread_out(heights, gap)) <= 1.0:
        assert placed == spread_out(heights, gap)


def test_a_tint_lies_between_white_and_its_colour() -> None:
    assert tint("#0b6e99", 1.0) == "#0b6e99"
    assert tint("#0b6e99", 0.0) == "#ffffff"
    assert tint("#000000", 0.2) == "#cccccc"


def test_text_is_cut_to_fit() -> None:
    long = "Thresholds, n = 41, published after 1"
    width = text_width([long], 9.0)
    assert fitted(long, 9.0, width) == long
    short = fitted(long, 9.0, width / 2)
    assert short.endswith("…")
    assert long.startswith(short[:-1])
    assert text_width([short], 9.0) <= width / 2


def test_every_picture_of_the_pages_says_what_it_shows() -> None:
    """Its words stand for it where it cannot be seen, and a paragraph after it says what to see."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = set()
    for page in pages:
        blocks = [block.strip() for block in page.read_text(encoding="utf-8").split("\n\n")]
        for block, after in itertools.pairwise([*blocks, ""]):
            for words, path in re.findall(r"!\[([^]]*)\]\(([^)]*images/[^)]*)\)", block):
                where = f"{path} in {page.name}"
                shown.add((page.parent / path).resolve())
                assert len(words.split()) >= 5, f"{where} has no description"
                assert after[:1].isalpha(), f"after {where} nothing says what to see"
    assert shown == {path.resolve() for path in (ROOT / "docs" / "images").iterdir()}
