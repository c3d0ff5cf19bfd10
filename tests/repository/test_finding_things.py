# SPDX-License-Identifier: Apache-2.0
"""What a newcomer searches for is found: each search of the page leads to the file that answers it."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contributing" / "finding-things.md"
QUESTION = re.compile(r"^\| (.+\?) \| `(git grep -il .+?)` \| `(.+?)` \| (.+) \|$", re.MULTILINE)
HITS_READ_MAX = 5

QUESTIONS = QUESTION.findall(PAGE.read_text(encoding="utf-8"))


def test_there_are_ten_questions_with_answers():
    assert len(QUESTIONS) == 10
    assert all(len(answer) > 10 for *_rest, answer in QUESTIONS)


@pytest.mark.parametrize(
    ("question", "search", "file", "answer"), QUESTIONS, ids=[one[0] for one in QUESTIONS]
)
def test_search_leads_to_the_file_that_answers(question: str, search: str, file: str, answer: str):
    found = subprocess.run(shlex.split(search), cwd=ROOT, capture_output=True, text=True, check=True)
    assert file in found.stdout.splitlines()[:HITS_READ_MAX]
    named = re.findall(r"`(\w+(?:/[\w./]+)?)`", answer)
    text = (ROOT / file).read_text(encoding="utf-8")
    assert [name for name in named if name not in text] == []
