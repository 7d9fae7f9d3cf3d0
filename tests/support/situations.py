"""What somebody may ask `pcqr plan` about."""

from __future__ import annotations

from hypothesis import strategies as st

from pcqr.advice.advice import Situation

situations = st.builds(
    Situation,
    records=st.integers(1, 10**8),
    epsilon=st.floats(0.01, 10.0),
    queries=st.none() | st.integers(1, 10**6),
    columns=st.none() | st.integers(1, 1_000),
    public=st.none() | st.integers(1, 10_000),
    schema=st.booleans(),
)
