"""What can go wrong, as Python classes: one per status of the library, each also of the built-in kind it belongs to."""
from __future__ import annotations

__all__ = ["Error", "UsageError", "OptionError", "UnknownError", "FileError", "FormatError", "MismatchError",
           "BusyError", "OutOfMemoryError", "NumericError", "EnvError", "UnsupportedError", "SpaceError"]


class Error(Exception):
    """Every exception of this package. The message names the thing, and the next thing to try."""


class UsageError(Error, ValueError):
    """A call that makes no sense here: wrong shape, wrong order."""


class OptionError(Error, ValueError):
    """No such option, or a value out of its range."""


class UnknownError(Error, ValueError):
    """No environment, algorithm or preset of that name."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class FormatError(Error, ValueError):
    """A file that is damaged or of another kind."""


class MismatchError(Error, ValueError):
    """A file that belongs to another environment or configuration."""


class BusyError(Error, RuntimeError):
    """A run folder that a live process holds."""


class OutOfMemoryError(Error, MemoryError):
    """The options ask for more memory than there is."""


class NumericError(Error, ArithmeticError):
    """A number that became infinite or not-a-number."""


class EnvError(Error, RuntimeError):
    """An environment that reported a failure."""


class UnsupportedError(Error, NotImplementedError):
    """Not with this algorithm, environment or build."""


class SpaceError(Error, TypeError):
    """An environment whose spaces a learner of continuous actions cannot use."""


# In the order of DQS_STATUS_LIST in dqs.h, after DQS_OK; the last is DQS_STOPPED.
BY_STATUS: list[type[Error]] = [UsageError, OptionError, UnknownError, FileError, FormatError, MismatchError, BusyError,
                                OutOfMemoryError, NumericError, EnvError, UnsupportedError, Error]
