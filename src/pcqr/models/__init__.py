"""Published classifiers that people can read, check and carry away: rules, JSON, pictures, ONNX, a model card."""

from pcqr.models.importance import Importance, Importances, importances
from pcqr.models.provenance import Provenance
from pcqr.models.published import PublishedModel
from pcqr.models.words import in_words

__all__ = ["Importance", "Importances", "Provenance", "PublishedModel", "importances", "in_words"]
