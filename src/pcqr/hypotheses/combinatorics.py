"""What a plan needs to know of a class H: public numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Combinatorics(ABC):
    """What a plan needs to know of a class H of binary classifiers: public numbers, and nothing to run."""

    features: int | None = None
    """Number of columns that the class is defined on; None for any number."""

    labels: int = 2
    """Number of classes C; labels are 0, …, C−1."""

    @property
    def largest_support(self) -> int | None:
        """The most points whose dichotomies a draw can hold in memory; None for no limit.

        A refusal must not depend on how many of the private points are distinct, so the limit is on their number.
        """
        return None

    @property
    @abstractmethod
    def vc_dimension(self) -> int:
        """VC dimension, or for stumps and finite classes a bound on it."""

    @property
    def switches(self) -> int | None:
        """For classes on the line, how often a label changes at most on the way from −∞, where it is 0, to +∞.

        A class that says so also promises that `learn`, wherever it makes no mistake, gives every x the label of a
        neighbouring record: one with no other record strictly between it and x. None for all other classes.
        """
        return None

    @property
    def boundaries(self) -> int:
        """At how many cuts a member typically changes its label. Only the planner's estimates use it, no bound."""
        return self.switches or self.vc_dimension

    @property
    def estimated_dimension(self) -> int:
        """d in the planner's estimates of how often teachers err on labels as they are. No bound uses it."""
        return self.vc_dimension

    def vc_bound(self, features: int) -> int:  # noqa: ARG002
        """A bound on the VC dimension on tables with `features` columns, where that depends on them."""
        return self.vc_dimension

    @property
    def is_fixed(self) -> bool:
        """True when the members are the same whatever the records are (declared cuts, a finite list)."""
        return False

    @property
    def log_size(self) -> float | None:
        """ln |H| for a finite class, else None."""
        return None

    @abstractmethod
    def log_growth(self, count: int, features: int = 1) -> float:
        """ln of a bound on the number of members on `count` points with `features` columns."""

    def log_rarity(self, count: int, features: int = 1) -> float:
        """ln of a bound on 1/π: a draw at η = 0 gives every dichotomy of `count` points a probability of at least π.

        `log_growth` where all members are equally likely; a class with another prior has a larger one.
        """
        return self.log_growth(count, features)

    @abstractmethod
    def log_probability_error(
        self, records: int, inverse_temperature: float, *, features: int = 1, public: int | None = None
    ) -> float:
        """A bound on |ln p̃(h) − ln p(h)|, p̃ the law that float64 arithmetic makes the sampler draw from.

        A function of public numbers: `records` = n, η = `inverse_temperature`, `features` columns and, when the
        members come from public points, their number `public`. Neighbours each move by it, so twice this is
        added to ε (proofs/weighted_choice.md).
        """
