"""The model card: what a stranger must know before using the model, in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.models.vocabulary import Vocabulary, allowed_values, printable, rounded
from pcqr.privacy.guarantee import Guarantee, assumed, rounded_text

if TYPE_CHECKING:
    from pcqr.models.published import PublishedModel


_SEED = "seed"
_MANY_LINES = 200
"""Lines of rules on the card. All of them are in rules.txt."""


def model_card(model: PublishedModel) -> str:
    sections = (
        f"# A {model.kind.title} published under differential privacy",
        _promise(model),
        _reading(model),
        _inputs(model),
        _origin(model),
        _limits(model),
        _loading(),
    )
    return "\n\n".join(sections) + "\n"


def guarantee_in_words(guarantee: Guarantee, records: int | None) -> str:
    """The guarantee as one sentence about one unit."""
    factor = f"e^{rounded_text(guarantee.epsilon, 3)} ≈ {rounded_text(math.exp(min(guarantee.epsilon, 700.0)), 3)}"
    which = f"{guarantee.unit.any_one(records)} were replaced by {guarantee.unit.another}"
    if guarantee.is_pure:
        return f"If {which}, no model would become more than {factor} times as likely to be the one that is published."
    # With δ > 0 a statement about single models would say too little: it is sets of them that δ is added to.
    return (
        f"If {which}, the probability of finding whatever one looks for in the published model would become at most "
        f"{factor} times what it was, plus {rounded_text(guarantee.delta, 3)}."
    )


def _promise(model: PublishedModel) -> str:
    guarantee, origin = model.guarantee, model.provenance
    banner = (
        ""
        if guarantee.is_private
        else "> **NOT PRIVATE.** The randomness was seeded, as for tests. What follows would hold without a seed.\n\n"
    )
    lines = (line.partition(": ") for each in guarantee.assumptions for line in assumed([each]))
    assumptions = [f"**{title}:** {_text(assumption)}." for title, _, assumption in lines]
    slack = (
        []
        if origin.numerical_slack is None
        else [f"Numerical slack: {rounded_text(origin.numerical_slack, 3)} of ε is set aside for float64 arithmetic."]
    )
    steps = [f"Step within this release: {_text(step)}." for step in guarantee.steps]
    proof = [f"Proof: the note {_code(guarantee.proof)} in the source code of pcqr."] if guarantee.proof else []
    facts = (
        f"ε = {rounded_text(guarantee.epsilon, 6)}, δ = {rounded_text(guarantee.delta, 3)}"
        + (" (pure)." if guarantee.is_pure else " (not pure: δ is added to the probability of any set of models)."),
        f"Adjacency: {guarantee.adjacency}. The number of {guarantee.unit.plural} is public.",
        *steps,
        *slack,
        *proof,
        *assumptions,
        *(f"**{caveat}**" for caveat in guarantee.caveats(origin.records)),
        "Whatever is computed from the model, predictions included, costs nothing more. Other releases on the same "
        "records add up with it.",
        *guarantee.memory(),
    )
    return f"## The promise\n\n{banner}{guarantee_in_words(guarantee, origin.records)}\n\n{_bullets(facts)}"


def _reading(model: PublishedModel) -> str:
    classes = ", ".join(_code(model.vocabulary.label(label)) for label in range(len(model.classes)))
    gaps = "".join(f"\n\n{_text(sentence)}" for sentence in model.vocabulary.gaps())
    lines = model.rules().splitlines()
    rest = len(lines) - _MANY_LINES
    if rest > 0:
        lines = [*lines[:_MANY_LINES], f"… and {rest:,} more lines, which are in rules.txt"]
    return f"## The model\n\nIt gives one of the labels {classes}.\n\n{_fenced(chr(10).join(lines))}{gaps}"


def _inputs(model: PublishedModel) -> str:
    rows = "\n".join(
        f"| {_text(column.name)} | {column.kind} | {_text(allowed_values(column))} |" for column in model.schema.columns
    )
    return f"## What it takes\n\n| column | kind | values |\n|---|---|---|\n{rows}"


def _origin(model: PublishedModel) -> str:
    origin = model.provenance
    facts = (
        *([f"{origin.making}: {_text(origin.hypotheses)}."] if origin.hypotheses else []),
        *(
            [f"Drawn with probability ∝ e^(−η·mistakes), η = {rounded(origin.inverse_temperature)}."]
            if origin.inverse_temperature is not None
            else []
        ),
        *([f"Settings, all from public numbers: {_settings(origin.settings)}."] if origin.settings else []),
        *_public_coins(origin.settings),
        _public_inputs(origin.public_rows),
        *([f"Predicates: {len(origin.predicates)}, listed in `model.json`."] if origin.predicates is not None else []),
        *(
            [f"Made with {', '.join(_text(f'{name} {version}') for name, version in origin.versions)}."]
            if origin.versions
            else []
        ),
    )
    return f"## Where it comes from\n\n{_bullets(facts)}"


def _settings(settings: tuple[tuple[str, float], ...]) -> str:
    """Return the settings as text, without the seeds of public coins, which could be taken for seeds of the noise."""
    shown = ((name.replace("_", " "), value) for name, value in settings if not name.endswith(_SEED))
    return _text(", ".join(f"{name} {value:,.6g}" for name, value in shown))


def _public_coins(settings: tuple[tuple[str, float], ...]) -> list[str]:
    """Return where the splits of ferns come from, if there are any."""
    found = dict(settings)
    ferns = {value for name, value in settings if name.endswith(_SEED) and found.get(f"{name[:-4]}ferns", 0) > 0}
    return [f"The splits of its ferns come from public coins ({seed:,.6g}): no record and no noise." for seed in ferns]


def _public_inputs(rows: int | None) -> str:
    if rows is None:
        return "Public inputs: how many public rows there were is not recorded."
    if rows == 0:
        return "Public inputs: no rows. The class was declared, comes from the schema, or is made of bought predicates."
    return f"Public inputs: {rows:,} rows without labels, known to all, shaped the class."


def _limits(model: PublishedModel) -> str:
    facts = (
        *model.kind.limits_of(model.hypothesis),
        "No accuracy is stated. One measured on the private records would be a further release; measure on labelled "
        "data of your own.",
        "It has not been tested for fairness between groups, nor on people unlike those in the records.",
        "It refuses what it does not know: missing columns, undeclared categories, infinities.",
    )
    return f"## What it is not\n\n{_bullets(facts)}"


def _loading() -> str:
    code = (
        "from pcqr.models import PublishedModel\n\n"
        'model = PublishedModel.load("model.json")   # JSON, checked as it is read; no pickle\n'
        "model.predict(frame)                        # a data frame, an Arrow table or a dict of columns"
    )
    onnx = (
        "`model.onnx`, where it is there, takes the same columns and gives the same labels, and probabilities where "
        "there are some, by onnxruntime alone. Numbers are float64 with NaN for gaps, dates are days since 1970-01-01, "
        "all else is text."
    )
    return f"## How to load it\n\n```python\n{code}\n```\n\n{onnx}"


def _bullets(facts: tuple[str, ...]) -> str:
    return "\n".join(f"- {fact}" for fact in facts)


def _text(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown or HTML would act upon."""
    return re.sub(r"([\\`\[\]|])", r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


def _code(text: str) -> str:
    """`text` as a code span: between more backticks than it has in a row."""
    shown = printable(text)
    marks = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{marks} {shown} {marks}" if "`" in shown else f"{marks}{shown}{marks}"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


# ---------------------------------------------------------------------------------------------------------------------
# A tree as text: indented for reading from the top, or one rule a leaf.


def indented_rules(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str] | None = None) -> str:
    """ "if …:" and "else:", each leaf on a line of its own: its `verdict`, or that of `words`, and its probability."""
    return "\n".join(_indented(node, words, words.verdict if verdict is None else verdict, ""))


def flat_rules(node: Leaf | Split, words: Vocabulary) -> str:
    """Lines "IF … AND … THEN label", one a leaf. Exactly one rule applies to a record, so their order is free.

    For a simplified tree: of several cuts on one side of a feature the last is the tightest, and is the one shown.
    """
    return "\n".join(
        f"{f'IF {conditions} THEN' if conditions else 'ALWAYS'} {words.label(leaf.label)}{_share(leaf, words)}"
        for conditions, leaf in _paths(node, words, {})
    )


def predicates_of(node: Leaf | Split) -> Iterator[Predicate]:
    """All questions of the tree."""
    if isinstance(node, Split):
        yield node.predicate
        yield from predicates_of(node.holds)
        yield from predicates_of(node.fails)


def _share(leaf: Leaf, words: Vocabulary) -> str:
    return "" if leaf.shares is None else f" (probability {words.share(leaf)})"


def _indented(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str], margin: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield f"{margin}{verdict(node.label)}{_share(node, words)}"
        return
    yield f"{margin}if {words.condition(node.predicate, holds=True)}:"
    yield from _indented(node.holds, words, verdict, margin + "    ")
    yield f"{margin}else:  # {words.condition(node.predicate, holds=False)}"
    yield from _indented(node.fails, words, verdict, margin + "    ")


def _paths(node: Leaf | Split, words: Vocabulary, path: dict[tuple[int, bool], str]) -> Iterator[tuple[str, Leaf]]:
    """Each leaf with the conditions that lead to it, "… AND …". `path`: those that lead here, by feature and side."""
    if isinstance(node, Leaf):
        yield " AND ".join(path.values()), node
        return
    for child, holds in ((node.holds, True), (node.fails, False)):
        condition = words.condition(node.predicate, holds=holds)
        yield from _paths(child, words, path | {(node.predicate.feature, holds): condition})
