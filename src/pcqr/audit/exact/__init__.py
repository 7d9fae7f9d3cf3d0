"""The exact verifier: on small cases the law of everything a release shows, computed, not sampled.

The shipped code itself is run once for every way in which its random choices can turn out (tape.py). From the laws on
two neighbours follow the hockey-stick curve δ(ε) and the best adaptive adversary. A finding that exceeds its claim
refutes it; one that does not proves it for the neighbours and queries that were searched. Why the numbers are exact,
and which way truncation errs: proofs/audit.md.

    for case in shipped_cases():
        print(verify(case))

Of your own release: `Case.once` for a function (input, entropy) → everything shown, `Case` with a `Session` that
answers queries, or `SumCase` with a `Shown` for one sum with discrete Gaussian noise. Noise and choices must come from
`pcqr.privacy.noise` and the entropy source that the code is given; what cannot be followed raises `Unverifiable`.
"""

from pcqr.audit.exact.adversary import Conversations, Game, Session, conversations
from pcqr.audit.exact.cases import shipped_cases
from pcqr.audit.exact.events import Law, Unverifiable, curve, epsilon_at, hockey_stick, largest_log_ratio
from pcqr.audit.exact.sums import HalfSpace, Shown, SumCase
from pcqr.audit.exact.tape import law_of
from pcqr.audit.exact.verify import Case, Divergence, Finding, Witness, verify

__all__ = [
    "Case",
    "Conversations",
    "Divergence",
    "Finding",
    "Game",
    "HalfSpace",
    "Law",
    "Session",
    "Shown",
    "SumCase",
    "Unverifiable",
    "Witness",
    "conversations",
    "curve",
    "epsilon_at",
    "hockey_stick",
    "largest_log_ratio",
    "law_of",
    "shipped_cases",
    "verify",
]
