"""A published classifier: what is released, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pcqr.data.schema import Schema
from pcqr.data.schema.table import has_columns
from pcqr.errors import ParameterError, PcqrError
from pcqr.files import replacing, write_whole
from pcqr.hypotheses.base import Hypothesis, Points, as_points
from pcqr.models.card import model_card
from pcqr.models.effects import Effects
from pcqr.models.graph import Graph
from pcqr.models.importance import REPEATS, Importances, importances, some_rows
from pcqr.models.kind import Kind, ScoredKind
from pcqr.models.kinds import kind_of
from pcqr.models.provenance import (
    FORMAT,
    Learner,
    Provenance,
    caption,
    check_published,
    plain_schema,
    provenance_of,
    restored,
    written,
)
from pcqr.models.vocabulary import LabelName, Vocabulary, checked_classes
from pcqr.privacy.guarantee import Guarantee

_SHOWN_RULES = 40
"""Lines of rules in a notebook."""


def _has_scores(model: PublishedModel) -> bool:
    return isinstance(model.kind, ScoredKind)


@dataclass(frozen=True, repr=False)
class PublishedModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A published classifier: a hypothesis with the words to read it and the guarantee that it was released under.

    Everything here is public: the hypothesis, paid for by `guarantee`, and public facts. The probabilities at the
    leaves of a tree follow from noisy counts that the guarantee covers. Exact counts, training accuracy or the
    log-probability of the draw are functions of the private records that nobody paid for: there is no field for them.

    It is a classifier for scikit-learn that has been fitted already: `predict`, `score`, `classes_`; `fit` changes
    nothing and `clone` gives the model itself.

    Parameters
    ----------
    hypothesis : Hypothesis
        On the encoded table: a `DecisionTree`, `Stump`, `Threshold`, `LinearClassifier`, `Interval`, `IntervalUnion`,
        `Rectangle`, `Halfspace` or its `Constant`.
    classes : sequence of str, int or float
        The label names, all of one type, in the order of the labels 0, 1, …
    schema : Schema
        How records are encoded. Its columns are what `predict` takes.
    guarantee : Guarantee
        What was promised.
    provenance : Provenance, default Provenance()
        The class it was drawn from, the public inputs, the numerical slack, versions.
    effects : Effects or None, default None
        How the score moves with each column over public rows, for kinds that have no rules (`explained`).

    Attributes
    ----------
    classes_ : ndarray
        The label names.
    feature_names_in_ : ndarray of str
        The columns that `predict` takes.
    n_features_in_ : int
        How many they are.

    Raises
    ------
    ParameterError
        When the names of labels or columns do not suit the hypothesis.

    Examples
    --------
    >>> from pcqr import Guarantee, Schema
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.models import PublishedModel
    >>> from pcqr.data.schema import Column
    >>> hypothesis = Thresholds().learn([50, 60], [0, 1])  # as if drawn with ε = 1
    >>> model = PublishedModel(hypothesis, ("well", "ill"), Schema((Column("age"),)), Guarantee(1.0))
    >>> model.predict({"age": [40, 70]}).tolist()
    ['well', 'ill']
    >>> print(model.rules())
    if age > 55:
        predict ill
    else:  # age ≤ 55
        predict well
    >>> PublishedModel.from_json(model.to_json()) == model
    True
    """

    hypothesis: Hypothesis
    classes: tuple[LabelName, ...]
    schema: Schema
    guarantee: Guarantee
    provenance: Provenance = field(default_factory=Provenance)
    effects: Effects | None = None

    def __repr__(self) -> str:
        figures = replace(self.guarantee, assumptions=(), is_charged=None)
        labels = f"{len(self.classes)} labels" if len(self.classes) > 2 else " or ".join(map(repr, self.classes))
        model = f"a {self.kind.title} that says {labels}, of {len(self.schema.columns)} columns"
        return f"<PublishedModel: {model}. {figures}>"

    def _repr_html_(self) -> str:
        """Return the guarantee and the first rules, for a notebook."""
        lines = self.rules().splitlines()
        rest = [f"… {len(lines) - _SHOWN_RULES:,} more lines: rules()"] if len(lines) > _SHOWN_RULES else []
        rules = "\n".join([*lines[:_SHOWN_RULES], *rest])
        return f'<p class="pcqr-guarantee">{escape(str(self.guarantee))}</p><pre>{escape(rules)}</pre>'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_classes(self.classes))
        object.__setattr__(self, "schema", self.schema.without_cuts())  # the hypothesis has the cuts that it needs
        self.kind.check(self.hypothesis, self.vocabulary)

    @classmethod
    def from_learner(
        cls,
        learner: Learner,
        *,
        schema: Schema | None = None,
        classes: Sequence[LabelName] | None = None,
    ) -> PublishedModel:
        """The model that a fitted learner holds.

        Parameters
        ----------
        learner : PrivateClassifier, SemiPrivateLearner or UniversalRelease
            Fitted; the last must have published. The hypothesis is kept as it was drawn.
        schema, classes : optional
            For a learner that was given an encoded table and labels 0, 1, …: what they stand for.

        Returns
        -------
        PublishedModel

        Raises
        ------
        ParameterError
            When the estimator publishes nothing.
        NotFittedError
            When it has not been fitted.
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
        """The labels of rows. Costs nothing, however often.

        Parameters
        ----------
        X : table or array-like of shape (rows, p)
            A table with named columns (a frame, Arrow, a dict of sequences) is encoded by the schema: columns are found
            by name in any order. An array is taken as a table that is encoded already.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        DataError
            When columns are missing or unknown, or a category is not declared (unless the column has `other`).
        """
        return self.classes_[self.hypothesis.predict(self.points(X))]

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far, and to which side, each row of `X` is from the boundary: positive for the second class.

        For linear classifiers (margins) and trees with probabilities (log-odds). With more than two classes there is
        one column for each, and the largest decides. It depends on what is published and on `X`, so it costs nothing.
        """
        if not isinstance(self.kind, ScoredKind):
            raise AssertionError("`available_if` asks for scores.")
        return self.kind.scores(self.hypothesis, self.points(X))

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """How likely each label is for each row of `X`, as the model has it: one column a label, in their order.

        For linear classifiers, where it is a function of the margins that nothing calibrated on the private records,
        and for trees with shares of the labels at their leaves, as `PrivateClassifier` publishes them. Both are
        post-processing and cost nothing. Check them against labelled rows of your own. Those of a model of weighted
        records are about weighted records (`with_prior`); the steps of the guarantee say so.
        """
        if not isinstance(self.kind, ScoredKind):
            raise AssertionError("`available_if` asks for probabilities.")
        return self.kind.probabilities(self.hypothesis, self.points(X))

    @available_if(_has_scores)  # type: ignore[untyped-decorator]
    @np.errstate(divide="ignore")
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithms of `predict_proba`, for the same models."""
        logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def importances(self, X: Any, *, repeats: int = REPEATS, seed: int = 0) -> Importances:
        """Which columns matter, from PUBLIC rows `X`: see `pcqr.models.importances`."""
        return importances(self, X, repeats=repeats, seed=seed)

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Nothing is learnt: the model is published. Here for scikit-learn's tools, which call it.

        Parameters
        ----------
        X, y : ignored
            Whatever is passed.

        Returns
        -------
        PublishedModel
            This model.
        """
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The label names, in the order of the labels 0, 1, …"""
        return np.array(self.classes)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns that `predict` takes."""
        return np.array(self.schema.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """How many columns `predict` takes."""
        return len(self.schema.names)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def points(self, X: Any) -> Points:
        """Rows, as `predict` takes them, as the encoded table of numbers."""
        if has_columns(X):
            return self.schema.encode(X, name="X")
        if np.ndim(X) != 2:
            raise ParameterError("X", "a table: named columns, or an encoded array of two dimensions", type(X).__name__)
        return as_points(X, len(self.schema.feature_names), owner="this model")

    # For people -----------------------------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> Kind[Any]:
        """What kind of hypothesis it is: how it is checked, described, drawn and read aloud."""
        return kind_of(self.hypothesis)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names of features and labels."""
        return Vocabulary(self.schema, self.classes, effects=self.effects)

    def explained(self, X: Any = None) -> PublishedModel:
        """This model with its main effects over the PUBLIC rows `X`, for its text and its picture.

        Parameters
        ----------
        X : table, array-like of shape (rows, p) or None, default None
            As `predict` takes them; never private ones. None: made-up rows, each column by itself.

        Returns
        -------
        PublishedModel
            The same function of records. A kind that can be read without effects is returned as it is.
        """
        if not isinstance(self.kind, ScoredKind):
            return self
        found = self.kind.effects(self.hypothesis, self.schema, None if X is None else self.points(X))
        return self if found is None else replace(self, effects=found)

    def rules(self, *, flat: bool = False) -> str:
        """The model as text. Trees: nested if and else or, if `flat`, one IF … AND … THEN line for each leaf, with the
        probability of its label where it has one.

        Linear classifiers of questions alone: a scorecard, column by column, or one question a line, the largest points
        first. Other linear classifiers: their tree, where they have one, and what each column does on average. Numbers
        have as few digits as tell them apart. `to_json` has all of them.
        """
        return self.kind.aloud(self.hypothesis, self.vocabulary, flat=flat)

    def draw(self, path: str | Path) -> None:
        """Write a picture of the model. Needs the extra `plot`.

        Parameters
        ----------
        path : str or Path
            Where to: .svg, .png or .pdf.
        """
        names = [self.vocabulary.label(label) for label in range(len(self.classes))]
        title = f"{self.kind.title.capitalize()}: {' or '.join(names) if len(names) <= 4 else f'{len(names)} labels'}"
        words = self.vocabulary.rounding(self.kind.cuts(self.hypothesis))
        self.kind.draw(self.hypothesis, words, Path(path), caption(title, self.guarantee))

    def card(self) -> str:
        """The model card in Markdown: the promise, the rules, the inputs, where it comes from, what it is not."""
        return model_card(self)

    # To carry away --------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The model as JSON, described by `pcqr-model-5.schema.json` for a tree with probabilities.

        Other trees have version 1, intervals, rectangles and half-planes 3, linear classifiers 4.

        Returns
        -------
        str
            All digits of every number are kept.
        """
        return written(self)

    @classmethod
    def from_json(cls, text: str) -> PublishedModel:
        """Read what `to_json` wrote. No code is run.

        Parameters
        ----------
        text : str
            A JSON document.

        Returns
        -------
        PublishedModel

        Raises
        ------
        ParameterError
            When it is anything else, with the place where it differs.
        """
        return cls(**restored(text))

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
        """Write an ONNX model that takes the columns of the table as they are. Needs the extra `onnx`.

        It gives the labels that `predict` gives, and refuses gaps, categories and infinities that `predict` refuses.

        Parameters
        ----------
        path : str or Path
            Where to. Inputs: one for each column of the schema, named like it, records × 1. Numbers are float64 with
            NaN for gaps, dates are days since 1970-01-01 in float64, categories are texts. A model of an array without
            names has one input `X`, records × columns. Outputs: `label`, the names; `probabilities`, records × labels,
            for linear classifiers and for trees that have some. The guarantee, the labels and the columns are in the
            metadata.

        Raises
        ------
        ParameterError
            When ONNX cannot compute this kind of model.
        """
        graph = Graph(self.schema)
        labels = self.kind.add_labels(self.hypothesis, graph)
        facts = {
            "guarantee": str(self.guarantee),
            "labels": json.dumps(self.classes, ensure_ascii=False),
            "columns": json.dumps(self.schema.to_dict()["columns"], ensure_ascii=False),
        }
        about = f"A {self.kind.title} published under differential privacy. {self.guarantee}"
        Path(path).write_bytes(graph.finished(labels, self.classes, about, facts))

    def texts(self) -> dict[str, str]:
        """The files that are text, by name, the model itself first."""
        return {MODEL: self.to_json(), RULES: rules_text(self), CARD: self.card()}

    def save(self, directory: str | Path, *, public: Any = None) -> Saved:
        """Write model.json, then rules.txt, card.md, the picture and model.onnx, each whole or not at all.

        Files of these names from an earlier model are replaced or removed, so that none of them stands beside another
        model.

        Parameters
        ----------
        directory : str or Path
            Where to; it is made if it is not there.
        public : table, array-like of shape (rows, p) or None, default None
            PUBLIC rows, as `predict` takes them: with them also importance.txt and importance.svg.

        Returns
        -------
        Saved
            What was written, and why the rest was left out: what cannot be made of the model (an extra is not
            installed, the disk is full) is no error, since the model is whole without.

        Raises
        ------
        OSError
            When model.json, which is what was paid for, could not be written. It comes first.
        """
        return write_folder(self, Path(directory), None if public is None else self.points(public))


# ---------------------------------------------------------------------------------------------------------------------
# A model as a folder of files: the model itself, then what people read and other programs run.


MODEL, RULES, CARD, PICTURE, ONNX = "model.json", "rules.txt", "card.md", "picture.svg", "model.onnx"
IMPORTANCES = ("importance.txt", "importance.svg")
_EARLIER = "tree.svg"
"""What an earlier pcqr called the picture of a tree."""
FILES = (MODEL, RULES, CARD, PICTURE, _EARLIER, ONNX, *IMPORTANCES)
"""All names of files that `save` may write, replace or remove."""


@dataclass(frozen=True)
class Saved:
    """What `save` wrote, what it did not (names to reasons), and the model with its effects.

    `left_out` are files that this installation or this kind of model cannot have. `failed` are files that should be
    there: a full disk, a library that raised an error.
    """

    written: tuple[Path, ...]
    left_out: dict[str, str]
    failed: dict[str, str]
    model: PublishedModel


def holds_model(folder: Path) -> bool:
    """Does `folder` hold a model that `save` wrote?"""
    try:
        document = json.loads((folder / MODEL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def write_folder(model: PublishedModel, home: Path, public: Points | None) -> Saved:
    """Write the files of `model` to the folder `home`; see `PublishedModel.save`.

    model.json comes first, as soon as there is a model, and is written again once its effects are known.
    """
    text = model.to_json()
    home.mkdir(parents=True, exist_ok=True)
    for name in FILES[1:] if holds_model(home) else ():  # other people's files are not removed
        with suppress(OSError):
            (home / name).unlink(missing_ok=True)
    write_whole(home / MODEL, text)
    written: list[Path] = [home / MODEL]
    left_out: dict[str, str] = {}
    failed: dict[str, str] = {}
    try:
        explained = model if model.effects is not None and public is None else model.explained(public)
        if explained is not model:
            write_whole(home / MODEL, explained.to_json())
            model = explained
    except Exception as error:  # a model that cannot be explained is a model
        failed["effects"] = _reason(error)
    for name, make in _makers(model, public).items():
        try:
            with replacing(home / name) as draft:
                make(draft)
        except PcqrError as error:
            left_out[name] = str(error)
        except Exception as error:  # whatever a disk, a drawing or an ONNX library raises
            failed[name] = _reason(error)
        else:
            written.append(home / name)
    return Saved(tuple(written), left_out, failed, model)


def rules_text(model: PublishedModel) -> str:
    """The rules both ways, and what missing numbers count as."""
    read_aloud = (model.rules(), model.rules(flat=True), "\n".join(model.vocabulary.gaps()))
    return "\n\n".join(dict.fromkeys(filter(None, read_aloud))) + "\n"


def _makers(model: PublishedModel, public: Points | None) -> dict[str, Callable[[Path], object]]:
    """What writes each of the files but model.json."""
    makers: dict[str, Callable[[Path], object]] = {
        RULES: lambda path: write_whole(path, rules_text(model)),
        CARD: lambda path: write_whole(path, model.card()),
        PICTURE: model.draw,
        ONNX: model.to_onnx,
    }
    if public is None or public.shape[0] < 2:
        return makers
    table, picture = IMPORTANCES

    @cache
    def found() -> Importances:
        return model.importances(some_rows(model, public))

    promised = caption("Which columns matter", model.guarantee)
    return makers | {
        table: lambda path: write_whole(path, f"{found()}\n"),
        picture: lambda path: found().draw(path, promised),
    }


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, PcqrError) else f"{type(error).__name__}: {error}"
