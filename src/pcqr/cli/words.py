"""Kinds of answers in words that a newcomer understands."""

from __future__ import annotations

KINDS = {
    "stable": "answered by the votes",
    "published": "answered by the published classifier",
    "repeated": "asked before, answered from the log at no cost",
    "unstable": "unstable: the votes were too close to call",
    "unanswered": "unanswered: the release was exhausted",
}
OF_QUOTA = "unanswered: the key has used up what it may ask"
"""Unanswered, while the release goes on for others."""
TOGETHER = (
    "the anchor {anchor} is on the volume of the ledger: restored together, both are old, and nothing notices. "
    "Keep it on another volume (--anchor, PCQR_STATE_DIR)."
)
"""Said where the anchor of a release or an account would be restored with its ledger."""
