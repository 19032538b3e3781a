"""Groups of flags as dataclasses, so that verbs share them and take them as one value each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NewType, get_args, get_origin, get_type_hints

import typer

from truedraw.cli.pipe import quiet_pipe
from truedraw.cli.places import placed
from truedraw.cli.written_over import Named, check_inputs_kept

ENVIRONMENT = "TRUEDRAW_"
Sources = NewType("Sources", Mapping[str, str])
"""A field of this type is no option: it says of the others where they are from, as one of ORDER, or "DEFAULT"."""
Beside = Callable[[Mapping[str, Any]], Sequence[Path]]
"""From the values of all flags, by the names of their fields, to files that are written beside the one of a flag."""
ORDER = ("COMMANDLINE", "ENVIRONMENT", "DEFAULT_MAP")
"""typer's names for the places that a value may be given in, what counts first before the others; the last: a file."""


NAMES = "FILE", "DIR", "HEAD", "MODEL", "JSON"
"""In the metavar of a flag that may name a file or a folder, alone or inside JSON."""


def may_name_a_file(metavar: str | None) -> bool:
    """Whether that is what the value of a flag with this one may do."""
    return any(word in (metavar or "") for word in NAMES)


@dataclass(frozen=True)
class Flag:
    """A mark on a field: the option's names, its help, and what else typer should know."""

    names: tuple[str, ...]
    help: str
    writes_over: tuple[str, ...] | None
    beside: Beside | None
    more: dict[str, Any]

    @property
    def reads(self) -> bool:
        """Whether its value may name a file or a folder, as its help says."""
        return may_name_a_file(self.more.get("metavar"))


def flag(
    *names: str, help: str, writes_over: tuple[str, ...] | None = None, beside: Beside | None = None, **more: Any
) -> Flag:
    """An option; its environment twin is TRUEDRAW_ and the first name in capitals.

    One that names a file to write says in `writes_over` of which other flags it may write over the files, and what is
    written `beside` that file.
    """
    return Flag(names, help, writes_over, beside, more)


def report(name: str, help: str, panel: str) -> Flag:
    """A file that is written at the end, beside what the verb prints."""
    return flag(name, metavar="FILE", help=help, writes_over=(), dir_okay=False, rich_help_panel=panel)


def with_flags(verb: Callable[..., None]) -> Callable[..., None]:
    """A command for typer: each of the verb's parameters that is a dataclass becomes one option a field.

    Where two of them have a field of one name, the first one has the flag, and the other one its default.
    """
    hints = get_type_hints(verb, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own = next((name for name, hint in hints.items() if hint is typer.Context), None)
    context_name = own or "context"
    if own is None:
        hints = {context_name: typer.Context, **hints}
    described = {each[0]: each for group in reversed(groups.values()) for each in _options(group)}
    marks = {name: _mark(*described[name][:2])[1] for name in described}

    def command(**values: Any) -> None:
        context = values[context_name] if own else values.pop(context_name)
        named = [each for name, mark in marks.items() for each in _files(name, mark, values)]
        taken = _grouped(values, groups, context)
        with quiet_pipe(), placed(context):
            check_inputs_kept(named)
            verb(**taken)

    plain = _plain(verb, {name: hint for name, hint in hints.items() if name not in groups})
    in_order = dict.fromkeys(each[0] for group in groups.values() for each in _options(group))
    return _named_as(verb, command, [*plain, *(_parameter(*described[name]) for name in in_order)])


def _files(name: str, mark: Flag, values: Mapping[str, Any]) -> list[Named]:
    """What the flag names, and what is written beside it."""
    paths = [] if mark.beside is None else mark.beside(values)
    own = Named(mark.names[0], values[name], mark.writes_over, mark.reads)
    return [own, *(own._replace(value=path) for path in paths)]


def _grouped(values: dict[str, Any], groups: Mapping[str, Any], context: typer.Context) -> dict[str, Any]:
    """What the verb takes: the values of each group's fields as one."""
    for name, group in groups.items():
        mine = [field.name for field in fields(group) if field.name in values]
        places = {field: Sources(_sources(context, mine)) for field in _told(group)}
        values[name] = group(**{field: values.pop(field) for field in mine}, **places)
    return values


def _plain(verb: Callable[..., None], hints: Mapping[str, Any]) -> list[Parameter]:
    """The verb's parameters that are no groups."""
    given = signature(verb).parameters
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=hint, default=_default(given.get(name)))
        for name, hint in hints.items()
    ]


def _named_as(
    verb: Callable[..., None], command: Callable[..., None], parameters: Sequence[Parameter]
) -> Callable[..., None]:
    """The command, which typer is to see with the verb's name and help, and these parameters."""
    command.__name__, command.__doc__ = verb.__name__, verb.__doc__
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def environment_name(option: str) -> str:
    """TRUEDRAW_MAX_TOKENS for --max-tokens; --on/--off is named after the first."""
    return ENVIRONMENT + option.partition("/")[0].lstrip("-").replace("-", "_").upper()


@cache
def _hints(group: Any) -> dict[str, Any]:
    """Of a group's fields; to read them takes milliseconds, and verbs share groups."""
    return get_type_hints(group, include_extras=True)


def _options(group: Any) -> list[tuple[str, Any, Any]]:
    hints = _hints(group)
    return [(each.name, hints[each.name], each.default) for each in fields(group) if hints[each.name] is not Sources]


def _told(group: Any) -> list[str]:
    """The fields that say where the others are from."""
    return [field.name for field in fields(group) if _hints(group)[field.name] is Sources]


def _sources(context: typer.Context, names: Sequence[str]) -> dict[str, str]:
    found = {name: context.get_parameter_source(name) for name in names}
    return {name: "DEFAULT" if source is None else source.name for name, source in found.items()}


def _default(given: Parameter | None) -> Any:
    return Parameter.empty if given is None else given.default


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    kind, mark = _mark(name, hint)
    option = typer.Option(
        *mark.names, help=mark.help, envvar=environment_name(mark.names[0]), show_envvar=False, **mark.more
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option], default=default)


def _mark(name: str, hint: Any) -> tuple[Any, Flag]:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"the field {name} needs Annotated[..., flag(...)]")
    kind, mark = get_args(hint)
    return kind, mark
