"""The exact law of choices, and of one noisy sum where they lead to one.

A question that decides between a tree and a head is of this kind: what is drawn before the sum is walked through as
ever, and the sum has a law in closed form. It has one coordinate that records move, the last: in all others it is 0 on
every table, so that noise has the same law there and is let come to 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from pcqr.audit.exact.events import Unverifiable
from pcqr.audit.exact.sessions import Conversations, History
from pcqr.audit.exact.sums import Announced, NoisySum
from pcqr.audit.exact.verify import Case
from pcqr.audit.exact.walk import intercepted, walk


@dataclass(frozen=True)
class TurningCase(Case):
    """The case of a release that draws by choice and then shows something, or one noisy sum.

    An outcome is what is shown (the sum being 0) and what the sum came to. Were the former not a function of choices
    alone, it would differ between tables, and the loss would be infinite.
    """

    def law(self, given: Any) -> Conversations:
        masses: defaultdict[History, float] = defaultdict(float)
        truncated = 0.0
        with intercepted():
            for tape, _ in walk(lambda: (Announced(), None)):
                shown = self.start(given, tape).ask(None)
                if len(tape.sums) > 1:
                    raise Unverifiable("More than one sum was drawn: no other number of them is followed here.")
                if any(any(each.total[:-1]) for each in tape.sums):
                    raise Unverifiable("Records move more than one coordinate of a sum.")
                truncated = max(truncated, tape.truncated + math.fsum(each.law.truncated for each in tape.sums))
                for value, chance in _values(tape.sums[0]) if tape.sums else [(None, 1.0)]:
                    masses[((0, (shown, value)),)] += tape.mass * chance
        return Conversations(dict(masses), 1, truncated)


def _values(noisy: NoisySum) -> list[tuple[int, float]]:
    """What the last coordinate of a noisy sum can come to, and how likely that is."""
    law = noisy.law.measure
    return list(zip((law.support + noisy.total[-1]).tolist(), law.weights.tolist(), strict=True))
