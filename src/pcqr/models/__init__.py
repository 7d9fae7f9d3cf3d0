"""Published classifiers that people can read, check and carry away: rules, JSON, pictures, ONNX, a model card."""

from pcqr.models.provenance import Provenance
from pcqr.models.published import PublishedModel

__all__ = ["Provenance", "PublishedModel"]
