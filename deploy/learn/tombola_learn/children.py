"""Processes that end with the one that started them, however that ends."""
import ctypes
import os
import signal

__all__ = ["ends_with_us"]

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def ends_with_us():
    """For Popen's preexec_fn: in the child, between fork and exec.  A training that is killed leaves nobody behind who holds
    the ledger, so that it can be gone on with."""
    parent = os.getpid()

    def in_child():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended meanwhile
            os._exit(1)

    return in_child
