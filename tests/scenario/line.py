"""line.py - a network between two ends that can be cut and mended: bytes as they are, late or never, and no end is told."""
import os
import socket
import threading

from relay import carry, end


class Line:
    """Carries what is said on `path` (a Unix socket) or a port of its own to `target`.

    While it is cut nothing gets through, and connections stay as they are; once mended, what was said meanwhile arrives.  `on` maps
    bytes that the near end says to functions, called once each before those bytes go on."""

    def __init__(self, target, path=None):
        self.target, self.on, self.open = target, {}, threading.Event()
        self.open.set()
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            os.chmod(path, 0o777)
            self.listener.listen()
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self):
        self.open.clear()

    def mend(self):
        self.open.set()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(near,), daemon=True).start()

    def one(self, near):
        self.open.wait()
        far = socket.socket(socket.AF_UNIX if isinstance(self.target, str) else socket.AF_INET)
        try:
            far.connect(self.target)
        except OSError:
            end(near)
            return
        threading.Thread(target=self.way, args=(far, near), daemon=True).start()
        self.way(near, far, said=True)

    def way(self, source, sink, said=False):
        def take(data):
            for text in [t for t in self.on if said and t in data]:
                self.on.pop(text)()
            self.open.wait()
            sink.sendall(data)

        carry(source, take)
        self.open.wait()
        end(sink)

    def close(self):
        end(self.listener)
        self.mend()
