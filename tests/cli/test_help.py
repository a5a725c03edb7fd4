"""What `-h` shows: what a command does, every option, and examples that are accepted."""

import re
import shlex

import click
import pytest

from lookalike.cli.main import COMMANDS, group


def load(name):
    return group.get_command(click.Context(group), name)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_hidden_or_undescribed(name):
    for parameter in load(name).params:
        if isinstance(parameter, click.Option):
            assert not parameter.hidden, parameter.name
            assert parameter.help[0].isupper() or parameter.help[0] in ".jwdl", parameter.help
            assert re.search(r"[.\])]$", parameter.help), parameter.help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_the_command_does(cli, name):
    done = cli(name, "-h")
    assert (done.code, done.err) == (0, "")
    usage, _, first, *_ = done.out.splitlines()
    assert usage.startswith(f"Usage: lookalike {name} ")
    assert first.strip()
    assert cli(name, "--help").out == done.out
    for parameter in load(name).params:
        assert all(one in done.out for one in parameter.opts if one.startswith("-"))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_of_the_examples_exist(name):
    command = load(name)
    lines = [line.rpartition("|")[2].strip() for line in command.epilog.splitlines() if "lookalike " in line]
    assert lines
    for line in lines:
        program, called, *arguments = shlex.split(line)
        assert (program, called) == ("lookalike", name)
        command.make_context(called, arguments)  # parsed, not run


def test_shells_can_complete_commands(cli, monkeypatch):
    monkeypatch.setenv("_LOOKALIKE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "lookalike ne")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = cli()
    assert (done.code, done.out, done.err) == (0, "plain,neighbors\n", "")
