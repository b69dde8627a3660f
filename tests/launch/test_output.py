"""Streams of whole lines."""

from __future__ import annotations

import io
import os

import pytest

from taskarr.launch.output import Lines


@pytest.fixture
def pipe():
    """A function that makes a stream and one that reads what came out."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)

    def read() -> bytes:
        try:
            return os.read(reader, 1 << 20)
        except BlockingIOError:
            return b""

    yield (lambda *args, **kwargs: Lines(writer, *args, **kwargs)), read
    os.close(reader)
    os.close(writer)


def test_writes_whole_lines_with_the_prefix(pipe):
    make, read = pipe
    lines = make(b"> ")
    lines.write(b"one\ntw")
    assert read() == b"> one\n"
    lines.flush()
    assert read() == b""
    lines.write(b"o\n\nthree")
    assert read() == b"> two\n> \n"
    lines.finish()
    assert read() == b"> three\n"


def test_each_line_is_one_write(pipe, monkeypatch):
    make, _ = pipe
    written = []
    monkeypatch.setattr(os, "write", lambda fd, data: written.append(bytes(data)) or len(data))
    make(b"> ").write(b"one\ntwo\n")
    assert written == [b"> one\n", b"> two\n"]


def test_an_eager_stream_shows_a_prompt(pipe):
    make, read = pipe
    lines = make(eager=True)
    lines.write(b"name? ")
    assert read() == b""
    lines.flush()
    assert read() == b"name? "
    lines.finish()
    assert read() == b""


def test_the_prefix_stands_once_in_a_line_that_came_in_parts(pipe):
    make, read = pipe
    lines = make(b"> ", eager=True)
    for part in (b"a", b"b", b"c\nd"):
        lines.write(part)
        lines.flush()
    assert read() == b"> abc\n> d"


def test_carriage_returns_end_lines_of_progress_bars(pipe):
    make, read = pipe
    lines = make(b"> ")
    lines.write(b"\r10%")
    lines.write(b"\r20%")
    assert read() == b"> \r> 10%\r"
    lines.write(b"\r\nend\r")
    lines.write(b"\n")
    assert read() == b"> 20%\r> \r\n> end\r\n".replace(b"20%\r> \r\n", b"20%\r\n")


def test_carries_text(pipe):
    make, read = pipe
    text = io.TextIOWrapper(make(b"> "), encoding="utf-8", newline="\n", write_through=True)
    print("ä", "b", file=text)
    text.buffer.write(b"c\n")
    assert read() == "> ä b\n> c\n".encode()
    text.detach()


def test_an_endless_line_is_not_kept(pipe):
    make, read = pipe
    lines = make(b"> ")
    lines.write(b"x" * 50_000)
    lines.write(b"x" * 14_000)
    assert read() == b""
