"""Texts of estimators: one line, and HTML with the guarantee for notebooks."""

from __future__ import annotations

import inspect
import reprlib
from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

from pcqr.guarantee import Guarantee

_ALWAYS = ("epsilon", "delta")
"""Parameters that are shown although they have their defaults."""
_values = reprlib.Repr()
_values.maxother = _values.maxstring = _values.maxlong = 80
_values.maxlist = _values.maxtuple = 6


def line_of(estimator: Any) -> str:
    """Return the class with ε, δ and all parameters that differ from their defaults, long values cut."""
    defaults = {name: each.default for name, each in inspect.signature(type(estimator)).parameters.items()}
    only_changed = get_config()["print_changed_only"]
    given = estimator.get_params(deep=False)
    shown = {
        name: _values.repr(given[name])
        for name in sorted(given, key=lambda name: _ALWAYS.index(name) if name in _ALWAYS else len(_ALWAYS))
        if (name in _ALWAYS and given[name] is not None)
        or not only_changed
        or repr(given[name]) != repr(defaults.get(name))
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={value}' for name, value in shown.items())})"


def html_of(estimator: Any) -> str:
    """Return the guarantee, or that nothing was spent yet, above scikit-learn's diagram."""
    guarantee: Guarantee | None = getattr(estimator, "guarantee_", None)
    said = "Not fitted: nothing was released, and nothing was spent." if guarantee is None else f"{guarantee}"
    said = said[:1].upper() + said[1:]
    end = "" if said.endswith(".") else "."
    return f'<p class="pcqr-guarantee">{escape(said)}{end}</p>{estimator_html_repr(estimator)}'


class Displayed:
    """An estimator with these texts, as notebooks ask for them."""

    def __repr__(self) -> str:
        return line_of(self)

    def _repr_html_(self) -> str | None:
        return html_of(self) if get_config()["display"] == "diagram" else None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if html is None else {"text/html": html})
