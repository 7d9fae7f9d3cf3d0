"""Documents: one value as JSON text with its format, version and type, by the type hints of frozen dataclasses."""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import field, fields
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.serialization.reading import check_unicode, class_of, parse, read_number, read_object, shown, tag_of

# ---------------------------------------------------------------------------------------------------------------------
# Arrays of numbers inside documents, as one text: base64 (RFC 4648) of zlib (RFC 1950) of little-endian bytes.
#
# A list of a million numbers would be a document that nobody reads, ten times as long. Reading trusts nothing: a text
# that unpacks to more or fewer bytes than its array needs is refused, and no more than these are ever unpacked.


N = TypeVar("N", bound=np.generic)


def packed(array: NDArray[np.generic]) -> str:
    """The entries of `array`, row after row, as one text."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), level=6)).decode("ascii")


def unpacked(text: object, kind: type[N], shape: tuple[int, ...], name: str) -> NDArray[N]:
    """The array of this kind and shape that `packed` made a text of. Nobody can write to it.

    Raises ParameterError, which calls the text `name`, when it is anything else.
    """
    stored = np.dtype(kind).newbyteorder("<")
    size = math.prod(shape) * stored.itemsize
    if not isinstance(text, str):
        raise ParameterError(name, "a text", f"one of type {type(text).__name__}")
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(base64.b64decode(text.encode("ascii"), validate=True), size + 1)
    except (UnicodeEncodeError, binascii.Error, zlib.error):
        raise ParameterError(name, "base64 of zlib", "a text that is neither or is damaged") from None
    if len(found) != size or not unpacking.eof or unpacking.unused_data:
        raise ParameterError(name, f"base64 of zlib of {size} bytes", "one of more, of fewer, or of none")
    array: NDArray[N] = np.frombuffer(found, dtype=stored).astype(kind).reshape(shape)
    array.flags.writeable = False
    return array


# ---------------------------------------------------------------------------------------------------------------------
# From values to JSON and back, by the type hints of frozen dataclasses.
#
# One codec for each kind of hint: None, flags, numbers, texts, `Literal`, tuples, unions, and classes of the table,
# whose objects say in "type" which one they are. What a hint does not allow is refused in either direction, with the
# place. Writing never shows a value in an error: a hypothesis may be secret.


INFINITIES = {"inf": math.inf, "-inf": -math.inf}
LARGEST_INTEGER = 2**63
"""Integers are below this in magnitude, so that readers in other languages can hold them."""
TYPE = "type"
_LATER = "later"


def later(default: Any, *, compare: bool = True) -> Any:
    """A field that a class got after its documents were first written: its key is left out where it has its `default`.

    So documents from before are read, and are written as they were. Two values may be equal that differ in it alone
    where `compare` is False.
    """
    return field(default=default, compare=compare, metadata={_LATER: True})


class Codec(ABC):
    """One kind of value. `words` say what is allowed; `where` is a value's place in the document, for errors."""

    words: str

    @abstractmethod
    def takes(self, value: Any) -> bool:
        """May `value`, of Python or of JSON, be of this kind?"""

    def write(self, value: Any, where: str) -> Any:
        """`value` as `json.dumps` takes it."""
        if not self.takes(value):
            raise _unwritten(where, self.words, value)
        return self._written(value, where)

    def read(self, value: Any, where: str) -> Any:
        """The value that was written as `value`."""
        if not self.takes(value):
            raise ParameterError(where, self.words, _seen(value))
        return self._restored(value, where)

    def _written(self, value: Any, where: str) -> Any:  # noqa: ARG002
        return value

    def _restored(self, value: Any, where: str) -> Any:  # noqa: ARG002
        return value


def codec_for(hint: Any) -> Codec:
    """The codec of a type hint. A hint of another kind is a mistake in a class, not in a document."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, TypeVar):  # a label, whose type is the user's
        return _Either((_Nothing(), _Flag(), _Integer(), _Finite(), _Text()))
    if origin in _COMPOUND:
        return _COMPOUND[origin](arguments)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type):
        return _Tagged(hint)
    raise TypeError(f"No document can hold {hint!r}.")


class _Nothing(Codec):
    words = "null"

    def takes(self, value: Any) -> bool:
        return value is None


class _Flag(Codec):
    words = "true or false"

    def takes(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def _written(self, value: Any, where: str) -> bool:  # noqa: ARG002
        return bool(value)


class _Integer(Codec):
    words = "an integer of 64 bits"

    def takes(self, value: Any) -> bool:
        is_integer = isinstance(value, Integral) and not isinstance(value, bool)
        return is_integer and -LARGEST_INTEGER < value < LARGEST_INTEGER

    def _written(self, value: Any, where: str) -> int:  # noqa: ARG002
        return int(value)


class _Finite(Codec):
    """float64 with all digits. NaN equals nothing, not even what was written, and is refused."""

    words = "a finite number"

    def takes(self, value: Any) -> bool:
        return isinstance(value, Real) and not isinstance(value, Integral)

    def _written(self, value: Any, where: str) -> float | str:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or number != value:
            raise _unwritten(where, "a number that float64 can hold", value)
        return number

    def _restored(self, value: Any, where: str) -> float:
        return read_number(value, where)


class _Number(_Finite):
    """float64, infinities included, which are texts because JSON has none. Whole numbers may be written as such."""

    words = 'a number, "inf" or "-inf"'

    def takes(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in INFINITIES
        return isinstance(value, Real) and not isinstance(value, bool)

    def _written(self, value: Any, where: str) -> float | str:
        if isinstance(value, str):
            raise _unwritten(where, "a number", value)
        name = next((name for name, infinity in INFINITIES.items() if value == infinity), None)
        return super()._written(value, where) if name is None else name

    def _restored(self, value: Any, where: str) -> float:
        return INFINITIES[value] if isinstance(value, str) else super()._restored(value, where)


class _Text(Codec):
    words = "a text"

    def takes(self, value: Any) -> bool:
        return isinstance(value, str)

    def _written(self, value: Any, where: str) -> str:  # noqa: ARG002
        return str(value)


class _Choice(Codec):
    """`Literal`: one of a few texts."""

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices
        self.words = f"one of {', '.join(choices)}"

    def takes(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.choices


class _Row(Codec):
    """A tuple, a list in JSON: of fixed length, or of any length with items of one kind."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.any_length = items[1:] == (...,)
        self.items = tuple(codec_for(item) for item in (items[:1] if self.any_length else items))
        self.words = "a list" if self.any_length else f"a list of {len(self.items)}"

    def takes(self, value: Any) -> bool:
        return isinstance(value, list | tuple) and (self.any_length or len(value) == len(self.items))

    def _written(self, value: Any, where: str) -> list[Any]:
        return [codec.write(item, place) for codec, item, place in self._placed(value, where)]

    def _restored(self, value: Any, where: str) -> tuple[Any, ...]:
        return tuple(codec.read(item, place) for codec, item, place in self._placed(value, where))

    def _placed(self, value: Any, where: str) -> list[tuple[Codec, Any, str]]:
        codecs = self.items * len(value) if self.any_length else self.items
        return [(codec, item, f"{where}[{i}]") for i, (codec, item) in enumerate(zip(codecs, value, strict=True))]


class _Either(Codec):
    """A union: the first part that takes a value writes or reads it."""

    def __init__(self, parts: tuple[Codec, ...]) -> None:
        self.parts = parts
        self.words = " or ".join(part.words for part in parts)

    @classmethod
    def of(cls, hints: tuple[Any, ...]) -> _Either:
        return cls(tuple(codec_for(hint) for hint in hints))

    def takes(self, value: Any) -> bool:
        return any(part.takes(value) for part in self.parts)

    def _written(self, value: Any, where: str) -> Any:
        return self._part(value).write(value, where)

    def _restored(self, value: Any, where: str) -> Any:
        return self._part(value).read(value, where)

    def _part(self, value: Any) -> Codec:
        return next(part for part in self.parts if part.takes(value))


class _Tagged(Codec):
    """A class of the table, or one below `cls`: an object whose "type" is the tag, with one key for each field."""

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls
        tag = tag_of(cls)
        self.words = f"an object of type {tag!r}" if tag else f"an object of the type of a {cls.__name__}"

    def takes(self, value: Any) -> bool:
        if not isinstance(value, dict):
            return isinstance(value, self.cls)
        named = class_of(value.get(TYPE))
        return named is not None and issubclass(named, self.cls)

    def _written(self, value: Any, where: str) -> dict[str, Any]:
        tag = tag_of(type(value))
        if tag is None:
            raise _unwritten(where, "of a class that has documents (pcqr.serialization.register)", value)
        cls: Any = type(value)
        as_before = {name for name, default in _defaults(cls).items() if getattr(value, name) == default}
        written = {
            name: codec.write(getattr(value, name), f"{where}.{name}")
            for name, codec in _members(cls)
            if name not in as_before
        }
        return {TYPE: tag} | written

    def _restored(self, value: Any, where: str) -> Any:
        named: Any = class_of(value[TYPE])
        absent = {name for name in _defaults(named) if name not in value}
        members = [(name, codec) for name, codec in _members(named) if name not in absent]
        entries = read_object(value, where, (TYPE, *(name for name, _ in members)))
        arguments = {name: codec.read(entries[name], f"{where}.{name}") for name, codec in members}
        try:
            return named(**arguments)
        except ParameterError as error:
            raise ParameterError(f"{where}.{error.name}", error.allowed, error.received) from None


_SCALARS: dict[Any, Codec] = {NoneType: _Nothing(), bool: _Flag(), int: _Integer(), float: _Number(), str: _Text()}
_COMPOUND: dict[Any, Callable[[tuple[Any, ...]], Codec]] = {
    Union: _Either.of,
    UnionType: _Either.of,
    Literal: _Choice,
    tuple: _Row,
}


@cache
def _members(cls: type[Any]) -> tuple[tuple[str, Codec], ...]:
    """What a document of `cls` holds: the fields that it is made from, in their order."""
    hints = get_type_hints(cls)
    return tuple((field.name, codec_for(hints[field.name])) for field in fields(cls) if field.init)


@cache
def _defaults(cls: type[Any]) -> dict[str, Any]:
    """The fields that `cls` got later, and what they are where a document does not have them."""
    return {each.name: each.default for each in fields(cls) if each.metadata.get(_LATER)}


def _seen(value: object) -> object:
    """What an error says of a value that was read."""
    if isinstance(value, dict) and isinstance(value.get(TYPE), str):
        return f"an object of type {value[TYPE]!r}"
    return shown(value)


def _unwritten(where: str, allowed: str, value: object) -> ParameterError:
    """All that an error may say of a value that is being written is its type."""
    return ParameterError(where, allowed, f"one of type {type(value).__name__}")


# ---------------------------------------------------------------------------------------------------------------------
# A document: one value as JSON text, with its format, its version and its type.


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
            raise ParameterError(_NAME, f'a JSON object with "format": "{FORMAT}"', "another JSON value or format")
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
