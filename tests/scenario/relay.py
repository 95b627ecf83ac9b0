"""relay.py - between a party and the shuffler: bytes as they are, TLS from end to end, and answers can be held back."""
import socket
import threading


class Relay:
    """Listens for a party, which is configured to dial it.

    After hold_back() nothing that the shuffler says over the connections so far gets through: `held` counts those bytes,
    `lost` those whose connection the party has closed since."""

    def __init__(self, cluster, party):
        self.held, self.lost, self.made, self.until = 0, 0, 0, 0
        self.near = []  # every connection that was made, its end at the party
        self.target = ("127.0.0.1", cluster.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        with open(cluster.path(f"{party}.conf")) as f:
            text = f.read()
        cluster.write(f"{party}.conf", text.replace(f"127.0.0.1:{cluster.port}",
                                                    f"127.0.0.1:{self.listener.getsockname()[1]}"))
        threading.Thread(target=self.accept, daemon=True).start()

    def hold_back(self):
        self.until = self.made

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.near.append(near)
            far, kept = socket.create_connection(self.target), []
            threading.Thread(target=self.down, args=(far, near, kept, self.made), daemon=True).start()
            threading.Thread(target=self.up, args=(near, far, kept), daemon=True).start()
            self.made += 1

    def up(self, near, far, kept):
        carry(near, far.sendall)
        self.lost += sum(kept)
        end(far)

    def down(self, far, near, kept, number):
        def take(data):
            if number < self.until:
                kept.append(len(data))
                self.held += len(data)
            else:
                near.sendall(data)

        carry(far, take)
        end(near)

    def close(self):
        end(self.listener)

    def die(self):
        """Nobody listens any more, and every connection ends."""
        self.close()
        for near in self.near:
            end(near)


def carry(source, take):
    try:
        while data := source.recv(65536):
            take(data)
    except OSError:
        pass


def end(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()
