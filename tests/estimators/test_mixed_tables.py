"""Public frames that are not all numbers give a schema by themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pcqr.estimators.tables import is_mixed


@pytest.mark.parametrize(
    ("frame", "mixed"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]}), False),
        (pd.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}), True),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), True),
        (np.array([[1.0], [np.nan]]), False),
    ],
    ids=["numbers", "one missing", "words", "no frame"],
)
def test_a_frame_is_mixed_by_words_or_by_a_single_missing_number(frame: object, mixed: bool) -> None:
    assert is_mixed(frame) is mixed
