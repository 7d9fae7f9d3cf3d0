"""One registry of algorithms and of hypothesis classes: whatever lists, plans, runs or explains them looks here.

An entry says what the papers, Python and the command line call a thing, and where its code and its proof are. Code is
named as "module:attribute", as entry points are, or given itself; it is loaded when it is used, so that `pcqr --help`
waits for nothing. A new peer is a folder and one line in `_ALGORITHMS`, or one call of `register`.

docs/glossary.md shows both tables as `algorithm_table` and `class_table` write them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

from pcqr.errors import ParameterError

Reference = str | Any
"""Code: "module:attribute", or the object itself."""


def resolve(reference: Reference) -> Any:
    """What a reference names."""
    if not isinstance(reference, str):
        return reference
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def _called(reference: Reference) -> str:
    return reference.partition(":")[2] if isinstance(reference, str) else str(reference.__name__)


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """One way to answer queries or to publish.

    Parameters
    ----------
    name : as the papers call it; where none does, the estimator's name.
    estimator : its class, with the interface of scikit-learn.
    words : what it does, in half a sentence.
    strength : why one would take it, in half a sentence.
    proof : the note in proofs/ that its guarantee rests on.
    further : notes that this one leads to.
    planner : from a `Request`, and where a search may begin (or None), to a `Plan`; it may raise `InfeasiblePlan`.
        None: `pcqr plan --class` leaves it out.
    expected : from a `Request` and that plan to what is expected of the whole run; None: the plan's own `prediction`.
    option : its name for `pcqr answer --algorithm`; None: that does not run it.
    command : what runs it on the command line; None: with an `option` that is `pcqr answer`, else nothing does.
    aliases : further names.
    publishes : does it end with a published classifier, whose questions its queries may show?
    pure : does it spend no δ?
    """

    name: str
    estimator: Reference
    words: str
    strength: str
    proof: str
    further: tuple[str, ...] = ()
    planner: Reference | None = None
    expected: Reference | None = None
    option: str | None = None
    command: str | None = None
    aliases: tuple[str, ...] = ()
    publishes: bool = False
    pure: bool = False

    @property
    def estimator_name(self) -> str:
        return _called(self.estimator)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it may be called."""
        option = () if self.option is None else (self.option,)
        return tuple(dict.fromkeys((*option, self.name, self.estimator_name, *self.aliases)))

    @property
    def command_line(self) -> str | None:
        """What to type, or None where no command runs it."""
        return f"pcqr answer --algorithm {self.option}" if self.command is None and self.option else self.command


@dataclass(frozen=True, kw_only=True)
class HypothesisFamily:
    """One hypothesis class: its `name` and `make` in Python, its `option` for `--class` (None: not there), its proof.

    `parameters` maps options of the command line to parameters of `make`. `needs_public`: its questions come from
    public rows or a schema.
    """

    name: str
    make: Reference
    proof: str
    option: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    needs_public: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        option = () if self.option is None else (self.option,)
        return (*option, self.name, *self.aliases)

    def made(self, **options: Any) -> Any:
        """The class with those of `options` that it takes; None stands for its own default."""
        given = {taken: options.get(option) for option, taken in self.parameters.items()}
        return resolve(self.make)(**{taken: value for taken, value in given.items() if value is not None})


Entry = Algorithm | HypothesisFamily
E = TypeVar("E", Algorithm, HypothesisFamily)

_ALGORITHMS: list[Reference] = [
    Algorithm(
        name="PrivateClassifier",
        estimator="pcqr.estimators:PrivateClassifier",
        words="publishes a tree, a linear classifier or boosted trees at once",
        strength="it answers every query, however many, and nothing can be left unanswered",
        proof="counted",
        further=("compare", "boosting", "linear"),
        command="pcqr publish --delta",
        publishes=True,
    ),
    Algorithm(
        name="SSPP",
        estimator="pcqr.estimators:SemiPrivateLearner",
        words="publishes one hypothesis at once, drawn from a public class; pure ε",
        strength="it publishes at once, has no unstable answers and spends no δ",
        proof="sspp",
        planner="pcqr.planning.options:plan_sspp",
        expected="pcqr.planning.options:sspp_expected",
        command="pcqr publish (trees)",
        publishes=True,
        pure=True,
    ),
    Algorithm(
        name="UnvPrivCl",
        estimator="pcqr.estimators:UniversalRelease",
        words="relabels, answers the first queries by votes, then publishes a classifier",
        strength="it answers like AgPrivCl and then publishes a classifier that answers for ever",
        proof="unv_priv_cl",
        planner="pcqr.planning.options:plan_unv_priv_cl",
        expected="pcqr.planning.options:unv_priv_cl_expected",
        option="universal",
        publishes=True,
    ),
    Algorithm(
        name="AgPrivCl",
        estimator="pcqr.estimators:AgnosticRelease",
        words="relabels, then answers by stable votes",
        strength="relabelling makes the teachers agree, so that few queries are unstable",
        proof="ag_priv_cl",
        planner="pcqr.planning.options:plan_ag_priv_cl",
        option="agnostic",
    ),
    "pcqr.peers.noisy_max.entry:NOISY_MAX",
    Algorithm(
        name="SubSamp",
        estimator="pcqr.estimators:SubsampleAggregate",
        words="answers by stable votes on the labels as they are",
        strength="the teachers agree often enough on the labels as they are",
        proof="sub_samp",
        planner="pcqr.planning.options:plan_sub_samp",
        option="subsamp",
    ),
]
"""In the order in which near ties between them are decided: what is published at once, published later, abstains."""

_CLASSES: list[Reference] = [
    HypothesisFamily(name="Thresholds", make="pcqr.hypotheses:Thresholds", proof="thresholds", option="thresholds"),
    HypothesisFamily(name="Intervals", make="pcqr.hypotheses:Intervals", proof="intervals", option="intervals"),
    HypothesisFamily(
        name="UnionsOfIntervals",
        make="pcqr.hypotheses:UnionsOfIntervals",
        proof="unions",
        option="unions",
        parameters={"intervals": "r"},
    ),
    HypothesisFamily(name="Stumps", make="pcqr.hypotheses:Stumps", proof="stumps", option="stumps"),
    HypothesisFamily(name="Rectangles", make="pcqr.hypotheses:Rectangles", proof="rectangles", option="rectangles"),
    HypothesisFamily(name="Halfspaces", make="pcqr.hypotheses:Halfspaces", proof="halfspaces", option="halfspaces"),
    HypothesisFamily(
        name="DecisionTrees",
        make="pcqr.hypotheses:DecisionTrees",
        proof="trees",
        option="trees",
        parameters={"depth": "depth"},
        needs_public=True,
    ),
    HypothesisFamily(name="Finite", make="pcqr.hypotheses:Finite", proof="finite"),
]


def algorithms() -> tuple[Algorithm, ...]:
    """All algorithms, in the order in which near ties between them are decided."""
    return tuple(map(resolve, _ALGORITHMS))


def classes() -> tuple[HypothesisFamily, ...]:
    """All hypothesis classes."""
    return tuple(map(resolve, _CLASSES))


def algorithm(text: str) -> Algorithm:
    """The algorithm of any of these names, in any case. ParameterError where nothing is called so."""
    found = _find(text, algorithms())
    if found is None:
        raise ParameterError("algorithm", f"one of {', '.join(entry.name for entry in algorithms())}", text)
    return found


def hypothesis_class(text: str) -> HypothesisFamily:
    """The hypothesis class of any of these names, in any case. ParameterError where nothing is called so."""
    found = _find(text, classes())
    if found is None:
        raise ParameterError("class", f"one of {', '.join(entry.name for entry in classes())}", text)
    return found


def _find(text: str, entries: tuple[E, ...]) -> E | None:
    wanted = text.casefold()
    return next((entry for entry in entries if wanted in (name.casefold() for name in entry.names)), None)


def register(entry: Entry) -> None:
    """Add an entry; it comes last. ParameterError where one of its names is taken."""
    known: tuple[Entry, ...] = algorithms() if isinstance(entry, Algorithm) else classes()
    taken = {name.casefold() for other in known for name in other.names}
    for name in entry.names:
        if name.casefold() in taken:
            raise ParameterError("name", "one that nothing else is called", name)
    (_ALGORITHMS if isinstance(entry, Algorithm) else _CLASSES).append(entry)


def unregister(entry: Entry) -> None:
    """Take back what `register` added."""
    (_ALGORITHMS if isinstance(entry, Algorithm) else _CLASSES).remove(entry)


def algorithm_table() -> str:
    """The algorithms as docs/glossary.md shows them."""
    rows = []
    for entry in algorithms():
        paper = (
            "–" if entry.name == entry.estimator_name else " ".join((entry.name, *(f"({a})" for a in entry.aliases)))
        )
        command = "–" if entry.command_line is None else f"`{entry.command_line}`"
        rows.append((f"`{entry.estimator_name}`", paper, command, entry.words, _notes(entry.proof, *entry.further)))
    return _table(("in Python", "in the papers", "on the command line", "what it does", "proof"), rows)


def class_table() -> str:
    """The hypothesis classes as docs/glossary.md shows them."""
    rows = []
    for entry in classes():
        options = "".join(f" --{option} …" for option in entry.parameters)
        rows.append(
            (f"`{entry.name}`", "–" if entry.option is None else f"`{entry.option}{options}`", _notes(entry.proof))
        )
    return _table(("in Python", "`--class`", "proof"), rows)


def _notes(*names: str) -> str:
    return ", ".join(f"[{name}](../proofs/{name}.md)" for name in names)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" if row else "|---" * len(head) + "|" for row in (head, (), *rows))
