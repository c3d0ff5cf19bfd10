# SPDX-License-Identifier: Apache-2.0
"""What others wrote is shown, never obeyed."""

import pytest

from lastgate.contracts.printable import printable
from lastgate.tools.cli.messages import print_error, print_hint, print_note, print_warning


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\rb\bc\x00", r"a\rb\x08c\x00"),
        ("pass\u202eward", r"pass\u202eward"),
        ("\u2066\u200b\ufeff", r"\u2066\u200b\ufeff"),
        ("\ud800", r"\ud800"),
        ("two\nlines", r"two\nlines"),
    ],
)
def test_character_that_a_terminal_obeys_is_written_out(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["", "plain", "Größe 3 °, ✓ 手 `x` \\x1b", "a\u0301"])
def test_text_that_is_only_read_stays_as_it_is(text):
    assert printable(text) == text


@pytest.mark.parametrize("say", [print_error, print_hint, print_note, print_warning])
def test_every_message_is_shown_and_keeps_its_lines(say, capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    say("first \x1b[31m\nsecond")
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert r"first \x1b[31m" in said
    assert "\nsecond" in said or "\nerror: second" in said
