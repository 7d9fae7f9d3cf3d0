"""What an entry of the registry says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Reference = str | Any
"""Code: "module:attribute", or the object itself."""


def resolve(reference: Reference) -> Any:
    """What a reference names.

    Parameters
    ----------
    reference : str or object
        "module:attribute", which is imported, or the object itself.

    Returns
    -------
    object

    Examples
    --------
    >>> from pcqr.registry import resolve
    >>> resolve("pcqr.hypotheses:Stumps")()
    Stumps(cuts=None)
    """
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
    name : str
        As the papers call it; where none does, the estimator's name.
    estimator : str or type
        Its class, with the interface of scikit-learn.
    words : str
        What it does, in half a sentence.
    recommended_because : str
        Why one would take it, in half a sentence.
    proof : str
        The note in proofs/ that its guarantee rests on.
    further : tuple of str, default ()
        Notes that this one leads to.
    planner : str or callable, default None
        From a `Request`, and where a search may begin (or None), to a `Plan`; it may raise `InfeasiblePlan`. None:
        `pcqr plan --class` leaves it out.
    expected : str or callable, default None
        From a `Request` and that plan to what is expected of the whole run. None: the plan's own `prediction`.
    option : str, default None
        Its name for `pcqr answer --algorithm`. None: that does not run it.
    command : str, default None
        What else runs it on the command line.
    aliases : tuple of str, default ()
        Further names.
    publishes : bool, default False
        Does it end with a published classifier, whose questions its queries may show?
    pure : bool, default False
        Does it spend no δ?

    Examples
    --------
    >>> from pcqr.registry import Algorithm
    >>> toss = Algorithm(
    ...     name="coin",
    ...     estimator="coins.estimator:CoinRelease",
    ...     words="tosses a coin for each query",
    ...     recommended_because="it needs no records at all",
    ...     proof="guarantee",
    ...     option="coin",
    ... )
    >>> toss.names
    ('coin', 'CoinRelease')
    >>> toss.command_line
    'pcqr answer --algorithm coin'
    """

    name: str
    estimator: Reference
    words: str
    recommended_because: str
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
        """What the estimator is called in Python."""
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
    """One hypothesis class.

    Parameters
    ----------
    name : str
        As Python calls it.
    make : str or callable
        What makes it.
    proof : str
        The note in proofs/ about its members and its sampler.
    option : str, default None
        Its name for `--class`. None: the command line does not have it.
    parameters : mapping of str to str, default {}
        From options of the command line to parameters of `make`.
    needs_public : bool, default False
        Do its questions come from public rows or a schema?
    aliases : tuple of str, default ()
        Further names.

    Examples
    --------
    >>> from pcqr.registry import HypothesisFamily
    >>> unions = HypothesisFamily(
    ...     name="UnionsOfIntervals",
    ...     make="pcqr.hypotheses:UnionsOfIntervals",
    ...     proof="unions",
    ...     option="unions",
    ...     parameters={"intervals": "r"},
    ... )
    >>> unions.made(intervals=3, depth=None)
    UnionsOfIntervals(r=3)
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
        """Everything that it may be called."""
        option = () if self.option is None else (self.option,)
        return (*option, self.name, *self.aliases)

    def made(self, **options: Any) -> Any:
        """The class with those of `options` that it takes; None stands for its own default."""
        given = {taken: options.get(option) for option, taken in self.parameters.items()}
        return resolve(self.make)(**{taken: value for taken, value in given.items() if value is not None})


Entry = Algorithm | HypothesisFamily
