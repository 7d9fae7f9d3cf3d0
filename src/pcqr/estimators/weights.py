"""What a record counts: `class_weight` and `sample_weight`, as scikit-learn has them, read and bounded.

Weights of labels are public, and weights of rows are private: part of the record (proofs/weights.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.class_weights import on_the_grid
from pcqr.checks import check_positive
from pcqr.errors import DataError, ParameterError
from pcqr.records.weighted import WHOLE, ByLabel
from pcqr.schema.cells import weights
from pcqr.schema.reading import read, text_of

ClassWeight = Literal["balanced"] | Mapping[Any, float] | None
_ALLOWED = "None, 'balanced', or a mapping from labels to positive numbers"


def check_class_weight(given: Any) -> None:
    """Raise unless it is what `class_weight` may be. Labels are compared with names later (`declared_weights`)."""
    if given is None or (isinstance(given, str) and given == "balanced"):
        return
    if not isinstance(given, Mapping) or not given:
        raise ParameterError("class_weight", _ALLOWED, given)
    for weight in given.values():
        check_positive("class_weight", weight)


def declared_weights(given: Any, names: Sequence[Any]) -> ByLabel | None:
    """Return what a record of each of the labels `names` counts, in 64ths; None where nothing is declared.

    Labels that the mapping does not name have the weight 1.
    """
    check_class_weight(given)
    if not isinstance(given, Mapping):
        return None
    places = {text_of(read(name)): place for place, name in enumerate(names)}
    found = [1.0] * len(names)
    for label, weight in given.items():
        place = places.get(_text(label))
        if place is None:
            raise ParameterError("class_weight", f"weights of the labels {list(names)}", label)
        found[place] = float(weight)
    return on_the_grid(found)


def _text(label: Any) -> str | None:
    try:
        return text_of(read(label))
    except TypeError:
        return None


def row_shares(sample_weight: Any, bound: float) -> NDArray[np.float64] | None:
    """Return `sample_weight` cut to `bound` and divided by it; None where there is none. No error quotes one."""
    check_positive("weight_bound", bound)
    found = weights(sample_weight)
    if found is None:
        return None
    if found.ndim != 1 or not (found >= 0.0).all():  # NaN is neither
        raise DataError("sample_weight", "numbers ≥ 0, none of them missing", "others")
    if not found.any():
        raise DataError("sample_weight", "weights, at least one of them above 0", "zeros alone")
    return np.minimum(found, float(bound)) / float(bound)


def in_words(by_label: ByLabel, names: Sequence[Any], *, is_balanced: bool) -> str:
    """Return what was done to labels, as a step of a guarantee. Public."""
    origin = "by noisy counts of the labels" if is_balanced else "as declared"
    told = ", ".join(f"{name} {weight}" for name, weight in zip(names, by_label, strict=True))
    return (
        f"records count by their label, {origin}, in {WHOLE}ths of a record: {told}. Labels and probabilities are "
        "about weighted records"
    )


def weights_of(by_label: ByLabel | None, names: Sequence[Any]) -> dict[Any, float]:
    """Return the weight of each label by its name."""
    shares = [WHOLE] * len(names) if by_label is None else by_label
    return {name: weight / WHOLE for name, weight in zip(names, shares, strict=True)}
