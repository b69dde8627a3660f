"""The text of an uncaught exception."""

from __future__ import annotations

import pytest

from scheduler import SPMDError, run_virtual
from taskarr.launch.report import user_traceback, word_of


def caught(function, *args) -> BaseException:
    with pytest.raises(BaseException) as info:
        function(*args)
    return info.value


def fails(text: str) -> None:
    raise ValueError(text)


def test_leaves_out_the_frames_of_the_library():
    error = caught(run_virtual, 1, lambda world: fails("apples"))
    text = user_traceback(error)
    assert "in fails" in text and "in <lambda>" in text
    assert "in run_virtual" not in text


def test_keeps_causes_notes_and_groups():
    inner = caught(fails, "inner")
    inner.add_note("a note")

    def outer():
        raise ExceptionGroup("several", [inner]) from inner

    text = user_traceback(caught(outer))
    assert text.count("ValueError: inner") == 2
    assert text.count("a note") == 2
    assert "direct cause" in text


def test_an_error_inside_the_library_keeps_its_frames():
    error = caught(run_virtual, -1, None)
    error.__traceback__ = error.__traceback__.tb_next
    assert "virtual.py" in user_traceback(error)


def test_the_word_tells_exceptions_and_places_apart():
    first, second = (caught(fails, text) for text in ("a", "a"))
    assert word_of(first) == word_of(second)
    assert word_of(first) != word_of(caught(fails, "b"))
    assert word_of(caught(lambda: fails("a"))) != word_of(first)


def test_the_place_of_an_spmd_error_does_not_count():
    def first():
        raise SPMDError("ranks differ")

    def second():
        raise SPMDError("ranks differ")

    assert word_of(caught(first)) == word_of(caught(second))
