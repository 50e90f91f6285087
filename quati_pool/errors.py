"""Errors that a user can act on. Each message is one line that says what is wrong and ends with what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike


class QuatiPoolError(Exception):
    """An error that the user can fix. The command line prints only its message and exits with status 1."""


class TranslatableError(QuatiPoolError):
    """An error that a page can say in its reader's language. ``reason`` is a keyword from which it builds the message,
    with ``values`` filled in; None where only the message says what is wrong."""

    def __init__(self, message: str, reason: str | None = None, **values: object) -> None:
        self.reason = reason
        self.values = values
        super().__init__(message)


class TranslatableText(str):
    """A sentence in English that a page can say in its reader's language: ``keyword`` names the page's message, and
    ``values``, some of which may be such texts, are filled in. Everywhere else it is the string that it is: an error's
    message, a note, or the reason why a figure is undefined."""

    keyword: str
    values: dict[str, object]

    def __new__(cls, text: str, keyword: str, /, **values: object) -> TranslatableText:
        made = super().__new__(cls, text)
        made.keyword, made.values = keyword, values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, object]]:
        """For pickle: a dashboard comes from another process."""
        return (str(self), self.keyword), self.values


def message_of(error: Exception) -> str:
    """The message of an error; a TranslatableText if it was raised with one."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, TranslatableText) else str(error)


class InputError(QuatiPoolError):
    """A file that does not follow its format.

    The message reads ``path:line: what is wrong; what was expected``. ``line`` counts from 1 and is
    None where the problem belongs to no single line (an empty file, a missing column).
    """

    def __init__(self, path: str | PathLike[str], line: int | None, message: str) -> None:
        self.path = str(path)
        self.line = line
        self.message = message
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {message}")


class QuatiPoolWarning(UserWarning):
    """Something odd in the input that is not an error, reported to a Python program."""


class FrameError(QuatiPoolError):
    """A frame or mapping passed from Python that does not have the form of a run or of labels. The message begins with
    the argument as written by the caller and the row at fault, such as ``runs["bm25"], row 3``."""


class FaultsError(QuatiPoolError):
    """Several errors found together; the message has one line per error."""

    def __init__(self, errors: Sequence[QuatiPoolError]) -> None:
        self.errors = list(errors)
        super().__init__("\n".join(map(str, self.errors)))


class ConfigError(QuatiPoolError):
    """A configuration that cannot be carried out as written."""


class ScoreError(QuatiPoolError, ValueError):
    """Scores or pairs, from a component or a caller, that cannot be ranked."""


class MissingExtraError(QuatiPoolError):
    """A component whose optional packages are not installed."""

    def __init__(self, component: str, extra: str, missing: str) -> None:
        self.extra = extra
        super().__init__(
            f"{component} needs the package {missing}, which is not installed: run: pip install 'quati-pool[{extra}]'"
        )
