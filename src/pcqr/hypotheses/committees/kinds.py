"""Committees from their arrays, by kind."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.hypotheses.committees.base import Committee

_HOMES = {
    "members": "pcqr.hypotheses.committees.members:Members",
    "borders": "pcqr.hypotheses.committees.borders:Borders",
    "boxes": "pcqr.hypotheses.committees.boxes:Boxes",
    "sides": "pcqr.hypotheses.committees.sides:Sides",
    "planes": "pcqr.hypotheses.learners.planes:Planes",
    "trees": "pcqr.hypotheses.trees.committee:TreeCommittee",
}
"""Where each kind is. Looked up when arrays need it: a class of hypotheses imports its committee, not the other way."""


def committee_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Committee:
    """The committee that `Committee.arrays` gave, of whichever kind. It votes as the one that gave them.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        The arrays by name, such as `np.load(file, allow_pickle=False)` reads them. **Private.**

    Returns
    -------
    Committee

    Raises
    ------
    DataError
        When no committee gave such arrays. It quotes none of them.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.hypotheses.committees import committee_from_arrays, trained
    >>> from pcqr.records import InMemory
    >>> records = InMemory([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 0, 1, 1, 1])
    >>> committee = trained(Thresholds(), records, [np.array([0, 3]), np.array([1, 4]), np.array([2, 5])])
    >>> again = committee_from_arrays(committee.arrays())
    >>> again.counts(np.array([[0.0], [3.7], [9.0]])).tolist()  # the votes for 0 and for 1; private
    [[3, 0], [1, 2], [0, 3]]
    """
    kind = arrays.get("kind")
    home = _HOMES.get(str(kind)) if isinstance(kind, np.ndarray) and kind.ndim == 0 and kind.dtype.kind == "U" else None
    if home is None:
        raise DataError("arrays", "those of a committee, with its 'kind' among them", "others")
    module, _, name = home.partition(":")
    found: type[Committee] = getattr(import_module(module), name)
    return found.from_arrays(arrays)
