"""A published model on the server gives what `predict`, `decision_function` and `predict_proba` give, if asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.published import MODEL as TREE
from support.published import SCHEMA, SCORED
from support.published_linear import linear_model, people

from pcqr.models import PublishedModel
from pcqr.server.service import ServedModel

POINTS = SCHEMA.encode(people(40))


@pytest.mark.parametrize("model", [linear_model("both", 2), linear_model("both", 3), SCORED])
def test_linear_classifiers_and_trees_with_shares_have_scores_and_probabilities(model: PublishedModel) -> None:
    classes = len(model.classes)
    served = ServedModel("m", model, Path("m"))
    width = [] if classes == 2 else [classes]
    assert [(each["name"], each["shape"]) for each in served.outputs] == [
        ("label", [-1]), ("score", [-1, *width]), ("probability", [-1, classes])
    ]  # fmt: skip
    found = served.predict(POINTS, ("score", "probability"))
    assert list(found["label"].cells) == model.predict(POINTS).tolist()
    for name, wanted in (("score", model.decision_function(POINTS)), ("probability", model.predict_proba(POINTS))):
        assert np.array(found[name].cells).reshape(-1, *found[name].width).tolist() == wanted.tolist()
    assert set(served.predict(POINTS)) == {"label"}


def test_a_tree_without_shares_has_labels_alone() -> None:
    served = ServedModel("m", TREE, Path("m"))
    assert [each["name"] for each in served.outputs] == ["label"]
    assert set(served.predict(POINTS, ("score", "probability"))) == {"label"}
