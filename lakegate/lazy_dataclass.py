"""`dataclass` as the standard library has it, but quick to import: methods of frozen classes are compiled at their first use.

The standard library compiles six methods of each class, 0.7 ms in all; a command imports 350 classes, and uses a part of them.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as compiled_dataclass
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - for type checkers it is that one
else:

    def dataclass(cls=None, /, **options):  # noqa: ANN001, ANN003, ANN201 - of the original
        """See `dataclasses.dataclass`."""
        if not options.get("frozen"):
            return compiled_dataclass(cls, **options)
        return (lambda each: _frozen(each, **options)) if cls is None else _frozen(cls, **options)


def _frozen(cls: type, *, slots: bool = False, eq: bool = True, repr: bool = True, **options: bool) -> type:  # noqa: A002 - as in the original
    """The class with its methods; what its body defines stays."""
    own = dict(vars(cls))
    if own.get("__hash__") is None and "__eq__" in own:
        del own["__hash__"]  # Python's own
    made: Any = compiled_dataclass(cls, init=False, repr=False, eq=False, slots=slots, **(options | {"frozen": False}))
    methods: dict[str, Any] = {
        "__setattr__": _refuse,
        "__delattr__": _refuse_deletion,
    }
    if "__init__" not in own:
        methods |= {"__init__": _compiled_when_used(made, "__init__", _init), "__signature__": _Signature(made)}
    if slots:
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods["__eq__"] = _compiled_when_used(made, "__eq__", _eq)
        methods["__hash__"] = _compiled_when_used(made, "__hash__", _hash)
    for name in methods.keys() - own.keys():
        setattr(made, name, methods[name])
    return made  # type: ignore[no-any-return]


def _compiled_when_used(cls: Any, name: str, source: Callable[[Any, dict[str, Any]], str]) -> Callable[..., Any]:  # noqa: ANN401 - a class
    """A method that compiles the one of this class, and takes its place with it."""

    def first(self: object, *given: object, **named: object) -> object:
        names: dict[str, Any] = {}
        exec(source(cls, names), names)  # noqa: S102 - of names of fields, which are Python's
        names[name].__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, names[name])
        return names[name](self, *given, **named)

    return first


class _Signature:
    """The parameters of a class, for `help` and `inspect`: they are those of a method that is perhaps not there yet."""

    def __init__(self, cls: Any) -> None:  # noqa: ANN401 - a class
        self._cls = cls

    def __get__(self, value: object, owner: Any) -> object:  # noqa: ANN401 - likewise
        if value is not None or owner.__init__ is not self._cls.__init__:
            return None
        import inspect  # noqa: PLC0415 - for programs that read programs

        names: dict[str, Any] = {}
        exec(_init(self._cls, names), names)  # noqa: S102 - as above
        found = inspect.signature(names["__init__"])
        return found.replace(parameters=list(found.parameters.values())[1:])


def _init(cls: Any, names: dict[str, Any]) -> str:  # noqa: ANN401 - a class
    """The text of `__init__`; what it uses is added to the names."""
    names["_set"] = object.__setattr__
    positional, keywords, body = ["self"], ["*"], []
    for each in fields(cls):
        default, value = f"_default_{each.name}", each.name
        parameter = each.name
        if each.default is not MISSING:
            names[default], parameter = each.default, f"{each.name}={default}"
        elif each.default_factory is not MISSING:
            names[default], parameter = each.default_factory, f"{each.name}=_set"
            value = f"{default}() if {each.name} is _set else {each.name}"
        if each.init:
            (keywords if each.kw_only else positional).append(parameter)
        elif default in names:
            value = default if each.default is not MISSING else f"{default}()"
        else:
            continue  # `__post_init__` sets it
        body.append(f"_set(self, {each.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(keywords if len(keywords) > 1 else ())])
    return f"def __init__({parameters}):\n {'; '.join(body) or 'pass'}"


def _eq(cls: Any, _: dict[str, Any]) -> str:  # noqa: ANN401 - a class
    left, right = (_values(owner, [each for each in fields(cls) if each.compare]) for owner in ("self", "other"))
    same = f"return {left} == {right} if other.__class__ is self.__class__ else NotImplemented"
    return f"def __eq__(self, other):\n {same}"


def _hash(cls: Any, _: dict[str, Any]) -> str:  # noqa: ANN401 - a class
    hashed = [each for each in fields(cls) if (each.compare if each.hash is None else each.hash)]
    return f"def __hash__(self):\n return hash({_values('self', hashed)})"


def _values(owner: str, of: list[Field[Any]]) -> str:
    """The text of a tuple of fields."""
    return f"({''.join(f'{owner}.{each.name}, ' for each in of)})"


@recursive_repr()
def _repr(self: Any) -> str:  # noqa: ANN401 - a value
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401 - a value
    """The values for copies and pickles, which cannot set attributes."""
    return [getattr(self, each.name) for each in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - a value
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
