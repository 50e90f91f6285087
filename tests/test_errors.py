"""Texts that a page can say in another language: strings to everybody else, whole after a process or a file."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from quati_pool.errors import ConfigError, InputError, QuatiPoolError, TranslatableText, message_of
from quati_pool.processes.errors import pack_error, unpack_error

GRADE = TranslatableText("the grade 2", "grade", grade=2)
SAID = TranslatableText("ana gave every pair the grade 2", "one_grade", labeler="ana", grade=GRADE)


def test_it_is_its_english_text() -> None:
    assert SAID == "ana gave every pair the grade 2"
    assert f"{SAID}." == "ana gave every pair the grade 2."
    assert json.dumps({"kappa": SAID}) == '{"kappa": "ana gave every pair the grade 2"}'


@pytest.mark.parametrize("copied", [pickle.loads(pickle.dumps(SAID)), copy.deepcopy(SAID)])
def test_its_keyword_and_values_are_copied_with_it(copied: TranslatableText) -> None:
    assert (copied, copied.keyword, copied.values) == (SAID, "one_grade", {"labeler": "ana", "grade": "the grade 2"})
    [grade] = [one for one in copied.values.values() if isinstance(one, TranslatableText)]
    assert (grade.keyword, grade.values) == ("grade", {"grade": 2})


def test_an_errors_message_is_the_text_that_it_was_raised_with_also_from_another_process() -> None:
    for error in (QuatiPoolError(SAID), unpack_error(pack_error(ConfigError(SAID)))):
        assert isinstance(error, QuatiPoolError)
        found = message_of(error)
        assert isinstance(found, TranslatableText)
        assert (str(error), found.keyword) == (SAID, "one_grade")


def test_other_messages_are_what_the_error_says() -> None:
    assert message_of(QuatiPoolError("no")) == "no"
    assert message_of(InputError("pool.yaml", 3, SAID)) == f"pool.yaml:3: {SAID}"
    assert message_of(QuatiPoolError()) == ""
