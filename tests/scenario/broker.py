"""broker.py - a real MQTT broker (mosquitto) on a free loopback port, with the cluster's life."""
import os
import re
import socket
import subprocess
import urllib.request

from paho.mqtt import publish

from cluster import Daemon, free_port, wait_for

MOSQUITTO = next((p for p in ("/usr/sbin/mosquitto", "/usr/bin/mosquitto") if os.path.exists(p)), "mosquitto")


class Broker:
    """Started at once; stop() and start() keep what it persists."""

    def __init__(self, cluster, *lines, start=True, host="127.0.0.1"):
        self.cluster, self.host, self.port, self.daemon = cluster, host, free_port(), None
        self.login = {}  # how publish() does it: auth, tls
        self.conf = cluster.write("mosquitto.conf", "\n".join((
            f"listener {self.port} {host}", "user root", "persistence false",
            *(lines or ("allow_anonymous true",)), "")))
        if start:
            self.start()

    def start(self):
        self.daemon = Daemon([MOSQUITTO, "-c", self.conf], self.cluster.path("mosquitto.log"))
        self.cluster.daemons.append(self.daemon)

        def connects():
            try:
                socket.create_connection((self.host, self.port), 1).close()
                return True
            except OSError:
                return False
        wait_for("the broker to listen", connects)

    def kill(self):
        self.daemon.kill()

    def publish(self, *messages, qos=1, retain=False):
        """(topic, payload) pairs, acknowledged by the broker when it returns."""
        publish.multiple([(t, p, qos, retain) for t, p in messages], hostname=self.host, port=self.port,
                         **self.login)

    def password(self, user, word, add=False):
        """A password file of one user, or of one more."""
        path = self.cluster.path("passwords")
        subprocess.run(["mosquitto_passwd", *([] if add else ["-c"]), "-b", path, user, word], check=True,
                       capture_output=True)
        return path


def metrics(cluster):
    """The client's, as {"name{labels}": value}."""
    with urllib.request.urlopen(f"http://127.0.0.1:{cluster.http['client']}/metrics", timeout=180) as page:
        return {m[1]: float(m[2]) for m in re.finditer(r"^(\w+(?:\{[^}]*\})?) (\S+)$", page.read().decode(), re.M)}


def fate(cluster, name):
    return metrics(cluster)[f'tombola_client_mqtt_messages_total{{fate="{name}"}}']
