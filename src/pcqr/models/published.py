"""A published classifier: what is released, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pcqr.errors import ParameterError, PcqrError
from pcqr.files import replacing, write_whole
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis, Points, as_points
from pcqr.models.canvas import Caption
from pcqr.models.card import model_card
from pcqr.models.graph import Graph
from pcqr.models.kind import Kind, ScoredKind
from pcqr.models.kinds import KINDS, kind_named, kind_of
from pcqr.models.learners import Learner, check_published, plain_schema, provenance_of
from pcqr.models.provenance import Provenance
from pcqr.models.reading import parse, read_flag, read_list, read_number, read_object, read_text
from pcqr.models.vocabulary import LabelName, Vocabulary, printable
from pcqr.schema import Schema
from pcqr.schema.cells import is_unicode
from pcqr.schema.schema import has_columns
from pcqr.unit import RECORD

FORMAT, VERSIONS = "pcqr-model", (1, 2, 3)
MOST_CLASSES = 127
MODEL, RULES, CARD, ONNX = "model.json", "rules.txt", "card.md", "model.onnx"
PICTURES = tuple(sorted({kind.picture for kind in KINDS}))
FILES = (MODEL, RULES, CARD, *PICTURES, ONNX)
"""All names of files that `save` may write, replace or remove."""


@dataclass(frozen=True)
class Saved:
    """What `save` wrote, and why the other files (names to reasons) were left out."""

    written: tuple[Path, ...]
    left_out: dict[str, str]


def _has_scores(model: PublishedModel) -> bool:
    return isinstance(model.kind, ScoredKind)


@dataclass(frozen=True)
class PublishedModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A hypothesis with the words to read it and the guarantee that it was released under.

    Everything here is public: the drawn hypothesis, paid for by `guarantee`, and public facts. Counts in leaves,
    training accuracy, class shares or the log-probability of the draw are functions of the private records that nobody
    paid for, so there is no field for them; a picture with counts would be another, unprotected release.

    It is a classifier for scikit-learn that has been fitted already: `predict`, `score`, `classes_`; `fit` changes
    nothing and `clone` gives the model itself.

    Parameters
    ----------
    hypothesis : on the encoded table: a `DecisionTree`, `Stump`, `Threshold`, `LinearHypothesis`, `OneAgainstRest`,
        `BoostedTrees`, `Interval`, `IntervalUnion`, `Rectangle`, `Halfspace` or its `Constant`.
    classes : the label names, all texts or all numbers of one type, in the order of the labels 0, 1, …
    schema : how records are encoded. Its columns are what `predict` takes.
    guarantee : what was promised.
    provenance : the class it was drawn from, the public inputs, the numerical slack, versions.
    """

    hypothesis: Hypothesis
    classes: tuple[LabelName, ...]
    schema: Schema
    guarantee: Guarantee
    provenance: Provenance = field(default_factory=Provenance)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", _checked_classes(self.classes))
        self.kind.check(self.hypothesis, self.vocabulary)

    @classmethod
    def from_learner(
        cls,
        learner: Learner,
        *,
        schema: Schema | None = None,
        classes: Sequence[LabelName] | None = None,
    ) -> PublishedModel:
        """The model that a fitted learner holds: a `PrivateClassifier`, a `SemiPrivateLearner`, or a `UniversalRelease`
        that has published.

        `schema` and `classes` are for a learner that was given an encoded table and labels 0, 1, …: what they stand
        for. The hypothesis is kept as it was drawn.
        """
        check_is_fitted(learner, "plan_")
        check_published(learner)
        names: Any = learner.classes_ if classes is None else classes
        return cls(
            hypothesis=learner.hypothesis_,
            classes=names,
            schema=schema or learner.schema_ or plain_schema(learner),
            guarantee=learner.guarantee_,
            provenance=provenance_of(learner),
        )

    # A classifier ---------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """The label names of the rows of `X`. Costs nothing, however often.

        A table with named columns (a frame, Arrow, a dict of sequences) is encoded by the schema: columns are found by
        name in any order; missing or unknown ones, and categories that are not declared (unless the column has
        `other`), raise `DataError`. An array is taken as a table that is encoded already.
        """
        return self.classes_[self.hypothesis.predict(self._encoded(X))]

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far, and to which side, each row of `X` is from the boundary: positive for the second class.

        With more than two classes, one column for each, of which the largest decides. For linear classifiers and
        boosted trees alone. A function of the published weights and of `X`, so it costs
        nothing. No probability: nothing in it is calibrated.
        """
        if not isinstance(self.kind, ScoredKind):
            raise AssertionError("`available_if` asks for scores.")
        return self.kind.scores(self.hypothesis, self._encoded(X))

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Nothing is learnt: the model is published. Here for scikit-learn's tools, which call it."""
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        return np.array(self.classes)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns that `predict` takes."""
        return np.array(self.schema.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        return len(self.schema.names)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def _encoded(self, X: Any) -> Points:
        if has_columns(X):
            return self.schema.encode(X, name="X")
        if np.ndim(X) != 2:
            raise ParameterError("X", "a table: named columns, or an encoded array of two dimensions", type(X).__name__)
        return as_points(X, len(self.schema.feature_names), owner="this model")

    # For people -----------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind[Any]:
        return kind_of(self.hypothesis)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.schema, self.classes)

    def rules(self, *, flat: bool = False) -> str:
        """The model as text. Trees: nested if and else or, if `flat`, one IF … AND … THEN line for each leaf.

        Boosted trees: each tree with its weight, or one weighted rule a line, the heaviest first. Linear classifiers: a
        scorecard, column by column, or one question a line, the largest points first.
        """
        return self.kind.rules(self.hypothesis, self.vocabulary, flat=flat)

    def draw(self, path: str | Path) -> None:
        """Write a picture of the model: .svg, .png or .pdf. Needs the extra `plot`."""
        names = [self.vocabulary.label(label) for label in range(len(self.classes))]
        title = f"{self.kind.title.capitalize()}: {' or '.join(names) if len(names) <= 4 else f'{len(names)} labels'}"
        promised = str(replace(self.guarantee, assumptions=()))
        notes = (
            promised[0].upper() + promised[1:],
            *(f"Treated as public: {printable(assumption)}" for assumption in self.guarantee.assumptions),
        )
        caption = Caption(title, notes, warning=not self.guarantee.is_private)
        self.kind.draw(self.hypothesis, self.vocabulary, Path(path), caption)

    def card(self) -> str:
        """The model card in Markdown: the promise, the rules, the inputs, where it comes from, what it is not."""
        return model_card(self)

    # To carry away --------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The model as JSON, described by `pcqr-model-1.schema.json`, or by version 2 or 3 for kinds that came later.

        All digits of every number are kept.
        """
        document = {
            "format": FORMAT,
            "version": self.kind.version,
            "kind": self.kind.name,
            "classes": list(self.classes),
            "schema": self.schema.to_dict(),
            "hypothesis": self.kind.describe(self.hypothesis, self.vocabulary),
            "guarantee": _described_guarantee(self.guarantee),
            "provenance": self.provenance.describe(self.vocabulary, self.kind.version),
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> PublishedModel:
        """Read what `to_json` wrote. Anything else is refused, with the place where it differs; no code is run."""
        document = parse(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ParameterError("model", f'a JSON object with "format": "{FORMAT}"', "something else")
        version = document.get("version")
        if type(version) is not int or version not in VERSIONS:
            raise ParameterError(
                "model.version",
                f"{', '.join(map(str, VERSIONS[:-1]))} or {VERSIONS[-1]}, which this pcqr reads",
                version,
            )
        keys = ("format", "version", "kind", "classes", "schema", "hypothesis", "guarantee", "provenance")
        read_object(document, "model", keys)
        kind = kind_named(document["kind"], version)
        classes = _checked_classes(read_list(document["classes"], "model.classes"))
        if not isinstance(document["schema"], dict):
            raise ParameterError("model.schema", "an object with the key columns", type(document["schema"]).__name__)
        words = Vocabulary(Schema.from_dict(document["schema"]), classes)
        return cls(
            hypothesis=kind.restore(document["hypothesis"], "model.hypothesis", words),
            classes=classes,
            schema=words.schema,
            guarantee=_restored_guarantee(document["guarantee"], "model.guarantee"),
            provenance=Provenance.restore(document["provenance"], "model.provenance", words, version),
        )

    @classmethod
    def load(cls, path: str | Path) -> PublishedModel:
        """Read a model file, or the `model.json` of a directory that `save` wrote."""
        source = Path(path)
        source = source / MODEL if source.is_dir() else source
        try:
            return cls.from_json(source.read_text(encoding="utf-8"))
        except OSError as error:
            raise ParameterError("path", "a file that can be read", f"{source} ({error.strerror})") from None
        except UnicodeDecodeError:
            raise ParameterError("path", "a JSON file in UTF-8", f"{source} (not UTF-8)") from None

    def to_onnx(self, path: str | Path) -> None:
        """Write an ONNX model: from the encoded table in float64 to the label names. Needs the extra `onnx`.

        Input `X`, one column for each of `schema.feature_names`; output `label`. NaN is not refused there: comparisons
        with it fail.
        """
        graph = Graph(len(self.vocabulary.features))
        labels = self.kind.add_labels(self.hypothesis, graph)
        about = {
            "features": json.dumps(self.schema.feature_names, ensure_ascii=False),
            "guarantee": str(self.guarantee),
        }
        Path(path).write_bytes(graph.finished(labels, self.classes, about))

    def texts(self) -> dict[str, str]:
        """The files that are text, by name, the model itself first."""
        read_aloud = (self.rules(), self.rules(flat=True), "\n".join(self.vocabulary.gaps()))
        return {
            MODEL: self.to_json(),
            RULES: "\n\n".join(filter(None, read_aloud)) + "\n",
            CARD: self.card(),
        }

    def save(self, directory: str | Path) -> Saved:
        """Write model.json, then rules.txt, card.md, the picture and model.onnx, each whole or not at all.

        model.json is what was paid for: it comes first, and `OSError` says that it could not be written. What cannot be
        made of it (an extra is not installed, the disk is full) is left out: the model is whole without. Files of these
        names from an earlier model are replaced or removed, so that none of them stands beside another model.
        """
        home = Path(directory)
        texts = self.texts()
        home.mkdir(parents=True, exist_ok=True)
        for name in FILES[1:]:
            with suppress(OSError):
                (home / name).unlink(missing_ok=True)
        write_whole(home / MODEL, texts.pop(MODEL))
        makers: dict[str, Callable[[Path], object]] = {
            name: partial(write_whole, content=text) for name, text in texts.items()
        } | {self.kind.picture: self.draw, ONNX: self.to_onnx}
        written, left_out = [home / MODEL], {}
        for name, make in makers.items():
            try:
                with replacing(home / name) as draft:
                    make(draft)
            except Exception as error:  # whatever a disk, a drawing or an ONNX library raises
                left_out[name] = str(error) if isinstance(error, PcqrError) else f"{type(error).__name__}: {error}"
            else:
                written.append(home / name)
        return Saved(tuple(written), left_out)


def _checked_classes(classes: Any) -> tuple[LabelName, ...]:
    if not isinstance(classes, list | tuple | np.ndarray):
        raise ParameterError("classes", "a list of label names", classes)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in classes)
    one_type = len({type(name) for name in names}) == 1 and isinstance(names[0], str | int | float)
    if not 2 <= len(names) <= MOST_CLASSES or not one_type or len(set(names)) < len(names):
        raise ParameterError("classes", f"2 to {MOST_CLASSES} different names, all texts or all numbers", list(names))
    if any(isinstance(name, str) and not (name.strip() and is_unicode(name)) for name in names):
        raise ParameterError("classes", "Unicode text that is not blank, where they are text", list(names))
    if any(isinstance(name, float) and not math.isfinite(name) for name in names):
        raise ParameterError("classes", "finite where they are numbers", list(names))
    if any(isinstance(name, int) and not -(2**63) <= name < 2**63 for name in names):
        raise ParameterError("classes", "within 64 bits where they are integers", list(names))
    return names


def _described_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """All versions so far say the adjacency in words, and know that of records alone."""
    if guarantee.unit != RECORD:
        raise ParameterError("guarantee.unit", f"RECORD in a model file of version {VERSIONS[-1]}", guarantee.unit)
    return guarantee.facts()


def _restored_guarantee(value: object, where: str) -> Guarantee:
    keys = ("epsilon", "delta", "proof", "assumptions", "is_private", "adjacency", "steps")
    entries = read_object(value, where, keys)
    adjacency = read_text(entries["adjacency"], f"{where}.adjacency")
    if adjacency != RECORD.adjacency:
        raise ParameterError(f"{where}.adjacency", f"{RECORD.adjacency!r}, the only one in use", adjacency)

    def texts(key: str) -> tuple[str, ...]:
        listed = read_list(entries[key], f"{where}.{key}")
        return tuple(read_text(entry, f"{where}.{key}[{i}]") for i, entry in enumerate(listed))

    return Guarantee(
        epsilon=read_number(entries["epsilon"], f"{where}.epsilon"),
        delta=read_number(entries["delta"], f"{where}.delta"),
        proof=read_text(entries["proof"], f"{where}.proof"),
        assumptions=texts("assumptions"),
        is_private=read_flag(entries["is_private"], f"{where}.is_private"),
        steps=texts("steps"),
    )
