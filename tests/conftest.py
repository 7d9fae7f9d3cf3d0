"""Fixtures of several folders. Property tests: no deadlines (machines are noisy); on CI the same examples always."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["support.shelves"]

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
