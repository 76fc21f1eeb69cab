"""Commands of click, made of functions: what a parameter is annotated with says its option or argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from lakegate.base.text import first_paragraph
from lakegate.cli import remembered_stack

F = TypeVar("F", bound=Callable[..., None])
CONTEXT: Final = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True)
class Option:
    """The annotation of an option: `Annotated[int, Option("--count", help="…")]`.

    Without a name it is called as the parameter. A list may be given several times; a parameter without a default is required.
    """

    name: str = ""
    other: str = ""
    """Another name, such as a letter."""
    _: KW_ONLY
    help: str
    envvar: str | None = None
    metavar: str | None = None
    show_default: bool = True
    case_sensitive: bool = True
    min: int | None = None
    max: int | None = None
    formats: Sequence[str] = ()
    """Of a time."""


@dataclass(frozen=True)
class Argument:
    """The annotation of an argument; a list takes one or more."""

    help: str
    metavar: str | None = None
    show_default: bool = True


@dataclass(frozen=True)
class CommandGroup:
    """Functions that are the commands of a command."""

    help: str
    functions: dict[str, Callable[..., None]] = field(default_factory=dict)

    def command(self, name: str) -> Callable[[F], F]:
        """Add the decorated function under a name."""

        def added(function: F) -> F:
            self.functions[name] = function
            return function

        return added

    def click_group(self, name: str, more: Mapping[str, Callable[..., None]]) -> click.Group:
        """The command with its own commands, and more of others."""
        commands = [click_command(own, function) for own, function in {**self.functions, **more}.items()]
        return Group(name, commands=commands, help=self.help, no_args_is_help=True, context_settings=CONTEXT)


class _Command(click.Command):
    """A command that names all that is missing at once, and asks the remembered stack unless it is told another one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The rest of the words; UsageError where several required values are missing."""
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.MissingParameter:
            values, _, _ = self.make_parser(ctx).parse_args(given)
            required = (each for each in self.params if each.required)
            missing = [each for each in required if each.value_is_missing(each.consume_value(ctx, values)[0])]
            if len(missing) == 1:
                raise
            raise click.UsageError(
                f"Missing: {', '.join(each.get_error_hint(ctx) for each in missing)}.", ctx
            ) from None
        remembered_stack.apply(ctx)
        return rest


def click_command(name: str, function: Callable[..., None]) -> click.Command:
    """The command whose arguments and options are the parameters of a function, and whose help is its docstring."""
    hints = get_type_hints(function, include_extras=True)
    values = [
        _Value.of(parameter, hints[parameter.name]) for parameter in inspect.signature(function).parameters.values()
    ]

    def run(**given: Any) -> None:  # noqa: ANN401 - the values of the command's parameters
        function(**{value.name: value.converted(given[value.name]) for value in values})

    return _Command(
        name,
        callback=run,
        params=[value.parameter() for value in values],
        help=inspect.getdoc(function),
        context_settings=CONTEXT,
    )


@dataclass(frozen=True)
class _Value:
    """A parameter of a function."""

    name: str
    declared: Option | Argument
    kind: type
    """Of the value, or of each one of a list."""
    is_list: bool
    default: Any

    @classmethod
    def of(cls, parameter: inspect.Parameter, hint: Any) -> _Value:  # noqa: ANN401 - a type
        hint, declared = get_args(hint)
        (kind,) = (
            [argument for argument in get_args(hint) if argument is not NoneType]
            if NoneType in get_args(hint)
            else [hint]
        )
        is_list = get_origin(kind) is list
        return cls(parameter.name, declared, get_args(kind)[0] if is_list else kind, is_list, parameter.default)

    def parameter(self) -> click.Parameter:
        """The argument or option of click."""
        required = self.default is inspect.Parameter.empty
        default = None if required else self.default.value if isinstance(self.default, Enum) else self.default
        unless_given: dict[str, Any] = {} if required else {"default": default}  # click takes None for a value
        if isinstance(self.declared, Argument):
            is_shown = self.declared.show_default and default is not None
            return click.Argument(
                [self.name],
                type=self._type(),
                shell_complete=_of_files if self.kind is str else None,
                required=required,
                **unless_given,
                nargs=-1 if self.is_list else 1,
                metavar=self.declared.metavar and self.declared.metavar + "..." * self.is_list,
                help=self.declared.help + (f"  [default: {default}]" if is_shown else ""),
            )
        names = (self.declared.name or f"--{self.name.replace('_', '-')}", self.declared.other, self.name)
        return click.Option(
            list(filter(None, names)),
            type=None if self.kind is bool else self._type(),
            is_flag=self.kind is bool,
            multiple=self.is_list,
            required=required,
            **unless_given,
            help=self.declared.help,
            envvar=self.declared.envvar,
            metavar=self.declared.metavar,
            show_default=self.declared.show_default and default not in (None, False),
            show_envvar=True,
        )

    def _type(self) -> click.ParamType[Any]:
        declared = self.declared if isinstance(self.declared, Option) else None
        if issubclass(self.kind, Enum):
            words = [member.value for member in self.kind]
            return click.Choice(words, case_sensitive=declared is None or declared.case_sensitive)
        if issubclass(self.kind, Path):
            return click.Path(path_type=Path)
        if declared is not None and issubclass(self.kind, datetime):
            return click.DateTime(declared.formats)
        if declared is not None and (declared.min, declared.max) != (None, None):
            of_range = click.IntRange if self.kind is int else click.FloatRange
            return of_range(declared.min, declared.max)
        return click.types.convert_type(self.kind)

    def converted(self, value: Any) -> Any:  # noqa: ANN401 - a value of any parameter
        """The value of click as the function takes it: lists, and members of enums."""
        of_one = self.kind if issubclass(self.kind, Enum) else lambda each: each
        if self.is_list:
            return [of_one(each) for each in value] or (None if self.default is None else [])
        return None if value is None else of_one(value)


def _of_files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    del ctx, parameter
    return [CompletionItem(incomplete, type="file")]


class Group(click.Group):
    """A command with commands, whose help has their whole descriptions."""

    def sections(self, ctx: click.Context) -> Mapping[str, Mapping[str, str]]:
        """The commands below their titles, by name what each does."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        return {"Commands": {name: first_paragraph(each.help if each else None) for name, each in commands.items()}}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, all with one width of their first column."""
        sections = self.sections(ctx)
        width = max((len(name) for section in sections.values() for name in section), default=0)
        for title, section in sections.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in section.items()])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order in which they were added."""
        del ctx
        return list(self.commands)
