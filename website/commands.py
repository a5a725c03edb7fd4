"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator

import click

from lookalike.cli.main import COMMANDS, group

PAGE = "reference/commands.md"
NO_EXAMPLES = ("\b", "", "Example:", "Examples:")


def command_pages() -> dict[str, str]:
    """The page with every command, its arguments, options and examples."""
    context = click.Context(group, info_name="lookalike")
    sections = [_section(name, command) for name, command in every_command(context)]
    table = "\n".join(f"| [`{name}`](#lookalike-{name}) | {help_} |" for name, help_ in COMMANDS.items())
    start = "Every command has `-h`. Data goes to standard output, progress and messages to standard error. "
    start += "The [exit codes](exit-codes.md) are the same for all commands.\n\n"
    return {
        PAGE: f"# Command line\n\n{start}| command | what it does |\n| --- | --- |\n{table}\n\n" + "\n".join(sections)
    }


def every_command(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Each command with its name; those of a group follow the group, as `index add`."""
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for inner, part in command.commands.items():
                yield f"{name} {inner}", part


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"lookalike {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## lookalike {name}", f"```text\nlookalike {name} {usage}\n```", _paragraphs(command.help or "")]
    rows = [_row(one, context) for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if rows:
        parts.append("| option | default | meaning |\n| --- | --- | --- |\n" + "\n".join(rows))
    if command.epilog:
        lines = [
            line.strip()
            for line in command.epilog.splitlines()
            if line.strip() not in ("\b", "", "Examples:", "Example:")
        ]
        parts.append("```text\n" + "\n".join(lines) + "\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def _paragraphs(text: str) -> str:
    """Help text as Markdown: a paragraph that click leaves as it is becomes a block."""
    shown = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if part.lstrip().startswith("\b"):
            shown.append("```text\n" + part.replace("\b", "").strip("\n") + "\n```")
        else:
            shown.append(_plain(" ".join(part.split())))
    return "\n\n".join(shown)


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    names, meaning = record if record else (", ".join(option.opts), option.help or "")
    meaning, _, default = meaning.partition("[default: ")
    meaning, default = meaning.replace("[required]", "").strip(), default.rstrip(" ]")
    if option.required:
        default = "required"
    shown = f"`{default}`" if default and re.fullmatch(r"[\w.:-]+", default) and default != "required" else default
    return f"| `{names}` | {_plain(shown)} | {_plain(meaning)} |".replace("  ", " ")


def _plain(text: str) -> str:
    """Text of the help as Markdown that shows the same."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"([*_|])", r"\\\1", html.escape(piece, quote=False)) for piece in pieces[::2]]
    return "".join(pieces).replace("||", "|")
