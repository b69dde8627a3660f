"""What is called when the world of this process is made and before it closes; imports nothing.

State of the process: two lists of functions without arguments, called in order.
"""

from collections.abc import Callable

__all__ = ["before_close", "when_made"]

when_made: list[Callable[[], None]] = []
before_close: list[Callable[[], None]] = []
