"""One name for one thing: what the papers, Python, the command line and the proof notes call the same algorithm.

docs/glossary.md shows this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """An algorithm: its name in the paper, the estimator, what it does, its proof note.

    `option` is None where `pcqr answer` does not run it; `command` says what does.
    """

    paper: str
    estimator: str
    option: str | None
    command: str | None
    words: str
    note: str


NAMES = (
    Name(
        "–",
        "PrivateClassifier",
        None,
        "pcqr publish --delta",
        "publishes a tree, a linear classifier or boosted trees at once",
        "counted.md",
    ),
    Name(
        "SSPP",
        "SemiPrivateLearner",
        None,
        "pcqr publish (trees)",
        "publishes one hypothesis at once, drawn from a public class; pure ε",
        "sspp.md",
    ),
    Name(
        "UnvPrivCl",
        "UniversalRelease",
        "universal",
        "pcqr answer --algorithm universal",
        "relabels, answers the first queries by votes, then publishes a classifier",
        "unv_priv_cl.md",
    ),
    Name(
        "AgPrivCl",
        "AgnosticRelease",
        "agnostic",
        "pcqr answer --algorithm agnostic",
        "relabels, then answers by stable votes",
        "ag_priv_cl.md",
    ),
    Name(
        "SubSamp",
        "SubsampleAggregate",
        "subsamp",
        "pcqr answer --algorithm subsamp",
        "answers by stable votes on the labels as they are",
        "sub_samp.md",
    ),
    Name(
        "noisy max",
        "NoisyMaxAggregate",
        None,
        None,
        "answers by noisy majorities, every answer paid for; Python only",
        "noisy_max.md",
    ),
)


def option_named(text: str) -> str | None:
    """The value of `--algorithm` for any of an algorithm's names, in any case; None where nothing is called so."""
    wanted = text.casefold()
    for name in NAMES:
        if name.option is not None and wanted in (
            known.casefold() for known in (name.option, name.paper, name.estimator)
        ):
            return name.option
    return None
