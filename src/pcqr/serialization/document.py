"""A document: one value as JSON text, with its format, its version and its type."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Self

from pcqr.errors import ParameterError
from pcqr.serialization.codec import codec_for
from pcqr.serialization.reading import check_unicode, parse

FORMAT, VERSION = "pcqr-document", 1
MOST_LEVELS = 100
"""Objects and lists within each other. A tree has one for each question on its longest path, and a few more."""
_NAME, _HEAD = "document", ("format", "version")


class Document:
    """A value with `to_json` and `from_json`: a frozen dataclass that has a tag in `pcqr.serialization.reading`.

    Examples
    --------
    >>> from pcqr import Guarantee
    >>> from pcqr.serialization import Document
    >>> isinstance(Guarantee(1.0), Document)
    True
    >>> Guarantee.from_json(Guarantee(1.0).to_json()) == Guarantee(1.0)
    True
    """

    def to_json(self) -> str:
        """This value as JSON, with all digits of every number.

        The text says all that the value says. What is secret, such as the hypothesis of one teacher, stays as secret as
        it was: publish the document only if the value itself was paid for.

        Returns
        -------
        str
            A JSON document of which `from_json` makes an equal value.

        Raises
        ------
        ParameterError
            When the value, or one inside it, is of a class without a tag or is nothing that JSON can hold. The error
            says where, and of which type it is.
        """
        try:
            described = {"format": FORMAT, "version": VERSION} | codec_for(type(self)).write(self, _NAME)
        except RecursionError:
            raise _too_deep() from None
        _check_depth(described)
        text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        check_unicode(text, _NAME)
        return text

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote. No code is run, and nothing is made of a class that has no tag.

        Parameters
        ----------
        text : str
            A JSON document.

        Returns
        -------
        Document
            A value of this class, or of one below it.

        Raises
        ------
        ParameterError
            When it is anything else, with the place where it differs.
        """
        document = parse(text, _NAME)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ParameterError(_NAME, f'a JSON object with "format": "{FORMAT}"', "something else")
        version = document.get("version")
        if type(version) is not int or version != VERSION:
            raise ParameterError(f"{_NAME}.version", f"{VERSION}, which this pcqr reads", version)
        _check_depth(document)
        value: Self = codec_for(cls).read({key: document[key] for key in document if key not in _HEAD}, _NAME)
        return value


def _check_depth(described: Any) -> None:
    """Refuse, whatever room the caller's stack has, what is nested too deeply for recursion."""
    level = [described]
    for _ in range(MOST_LEVELS):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise _too_deep()


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _too_deep() -> ParameterError:
    return ParameterError(_NAME, f"at most {MOST_LEVELS} levels deep", "one nested more deeply")
