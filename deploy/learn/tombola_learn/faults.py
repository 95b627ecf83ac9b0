"""What ends a training early: one line, and the exit code that Tombola's programs have for it."""

__all__ = ["EXIT", "Fault"]

EXIT = {"budget": 3, "usage": 64, "data": 65, "noinput": 66, "unavailable": 69, "software": 70, "create": 73, "io": 74,
        "later": 75, "protocol": 76, "permission": 77, "config": 78}


class Fault(Exception):
    """code: the exit code; the message is one line."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
