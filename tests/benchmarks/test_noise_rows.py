"""The table of noise: every law at every scale, with the bytes that it took."""

from __future__ import annotations

from benchmarks.noise import LAWS, SCALES, as_table, noise_rows


def test_every_law_is_timed_at_every_scale() -> None:
    rows = noise_rows(draws=400, singles=1, opendp_draws=1)
    assert [(row.law, row.scale) for row in rows] == [(law, scale) for law, _, _ in LAWS for scale in SCALES]
    assert as_table(rows).row_count == len(rows)
    for row in rows:
        assert (row.opendp_nanoseconds is None) == (row.law in {"geometric", "sech²"})
        words = 2 if row.scale >= 2.0**36 else 1
        draws = 14 if row.law == "sech²" else 1
        assert 8 * words <= row.bytes_a_draw <= 8 * words * draws * 2.5
