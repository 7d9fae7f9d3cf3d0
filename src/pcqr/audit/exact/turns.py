"""The exact law of a noisy sum, of choices that follow it, and of one more noisy sum where they lead to one.

A descent that is doubted midway is of this kind: it shows a noisy sum, then a tree, or a noisy sum that depends on the
first one. The first sum comes to each of its values in turn (`Announced`); what is drawn between is walked through as
ever; the second one has a law in closed form. Sums have one coordinate that records move, the last: in all others they
are 0 on every table, so that noise has the same law there and is let come to 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pcqr.audit.exact.events import Unverifiable
from pcqr.audit.exact.sessions import Conversations, History
from pcqr.audit.exact.sums import Announced, NoisySum, Vector
from pcqr.audit.exact.verify import Case
from pcqr.audit.exact.walk import intercepted, walk


@dataclass(frozen=True)
class TurningCase(Case):
    """The case of a release that shows a noisy sum and then, by what else it draws, something, or one more noisy sum.

    An outcome is what the sums came to and what is shown (the second sum being 0). Were the latter not a function of
    the sums and of choices alone, it would differ between tables, and the loss would be infinite.
    """

    def law(self, given: Any) -> Conversations:
        masses: defaultdict[History, float] = defaultdict(float)
        truncated = 0.0
        with intercepted():
            first = next(self._runs(given, ()))[0].sums[0]
            for value, chance in _values(first):
                for tape, shown in self._runs(given, ((*first.total[:-1], value),)):
                    if tape.sums[0] != first:
                        raise Unverifiable("The first sum is not the same in every branch: something came before it.")
                    truncated = max(truncated, tape.truncated + math.fsum(each.law.truncated for each in tape.sums))
                    for last, of_last in _values(tape.sums[1]) if len(tape.sums) > 1 else [(None, 1.0)]:
                        masses[((0, (value, shown, last)),)] += chance * tape.mass * of_last
        return Conversations(dict(masses), 1, truncated)

    def _runs(self, given: Any, values: Sequence[Vector]) -> Iterator[tuple[Announced, Hashable]]:
        """Every branch of what is drawn beside the sums, the first ones being `values`, all others 0."""
        for tape, _ in walk(lambda: (Announced(values), None)):
            shown = self.start(given, tape).ask(None)
            if not 1 <= len(tape.sums) <= 2:
                raise Unverifiable("Neither one nor two sums were drawn: no other number of them is followed here.")
            if any(any(each.total[:-1]) for each in tape.sums):
                raise Unverifiable("Records move more than one coordinate of a sum.")
            yield tape, shown


def _values(noisy: NoisySum) -> list[tuple[int, float]]:
    """What the last coordinate of a noisy sum can come to, and how likely that is."""
    law = noisy.law.measure
    return list(zip((law.support + noisy.total[-1]).tolist(), law.weights.tolist(), strict=True))
