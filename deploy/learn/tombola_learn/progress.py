"""What a training says while it runs: a line a step, and on a terminal a line that lives while a round is open."""
import contextlib
import sys
import threading
import time

__all__ = ["Progress", "printable"]


def printable(text):
    """Text on one line of a terminal that cannot move its cursor: other programs' words and names."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Progress:
    """out: a text stream; None says nothing."""

    def __init__(self, out=sys.stderr):
        self.out = out
        self.live = out is not None and out.isatty()

    def say(self, line):
        if self.out is not None:
            self.out.write(("\r\x1b[K" if self.live else "") + printable(line) + "\n")
            self.out.flush()

    @contextlib.contextmanager
    def during(self, name, number, of):
        """While an entry is asked."""
        if not self.live:
            yield
            return
        done, start = threading.Event(), time.monotonic()

        def tick():
            while not done.wait(0.5):
                filled = 20 * (number - 1) // of
                self.out.write(f"\r\x1b[K[{'#' * filled}{'.' * (20 - filled)}] {printable(name)}: asking the devices, "
                               f"{time.monotonic() - start:.0f} s")
                self.out.flush()

        ticking = threading.Thread(target=tick, daemon=True)
        ticking.start()
        try:
            yield
        finally:
            done.set()
            ticking.join()
            self.out.write("\r\x1b[K")
            self.out.flush()

    def step(self, name, number, of, estimate, last):
        """An answered step, as the checkpoint has it."""
        score = "".join(f"  {k} {v:.4f}" for k, v in last.get("score", {}).items())
        self.say(f"step {number:2} of {of}  {name:<14}  {estimate.reports:,} devices{score}  "
                 f"epsilon {last['epsilon']:.4f} of {last['limit']:g}" + ("  (the batch is lost)" if estimate.lost else ""))
