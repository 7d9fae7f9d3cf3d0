"""Releases and published models over HTTP: `pcqr serve` (docs/service.md). Needs the extra `server`.

Transport only: what is asked is read and checked here, and answered by the release itself (`pcqr.release`).
"""
