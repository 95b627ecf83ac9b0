"""browser.py - a headless Chromium, spoken to over a pipe in its DevTools protocol; nothing but the standard library."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    """One page in a browser of its own.  Everything it asked for and complained about is kept."""

    def __init__(self, width=1200, height=900):
        self.profile = tempfile.mkdtemp(prefix="tombola-browser-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        args = ["chromium", "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
                "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--window-size={width},{height}", "about:blank"]
        if os.geteuid() == 0:
            args.insert(1, "--no-sandbox")  # it does not run as root with one

        def descriptors():
            # The pipe is descriptors 3 and 4; moved out of the way first, since they may be each other's.
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            read, write = _above(read), _above(write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=descriptors, close_fds=False)
        os.close(theirs_in)
        os.close(theirs_out)
        self.read, self.write = ours_in, ours_out
        self.buffer, self.last = b"", 0
        self.session = None
        self.requests, self.complaints = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        self.size(width, height)

    def close(self):
        self.process.kill()
        self.process.wait(30)
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    # -- the protocol -----------------------------------------------------------------------------------------------

    def _message(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.read], [], [], max(0, end - time.monotonic()))[0]:
                return None
            part = os.read(self.read, 1 << 16)
            assert part, "the browser has ended"
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, message):
        what, p = message.get("method"), message.get("params", {})
        if what == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif what == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(p["exceptionDetails"]))
        elif what == "Log.entryAdded":
            self.complaints.append(f"{p['entry']['level']}: {p['entry']['text']} {p['entry'].get('url', '')}")
        elif what == "Runtime.consoleAPICalled":
            self.complaints.append(f"console: {p['args']}")
        elif what == "Page.javascriptDialogOpening":
            self.complaints.append(f"a dialog: {p['message']}")

    def ask(self, method, seconds=180, **params):
        answer = self._ask(method, seconds, params)
        # A page that is just being left answers nothing: the one that comes does.
        while "navigated or closed" in answer.get("error", {}).get("message", ""):
            answer = self._ask(method, seconds, params)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _ask(self, method, seconds, params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            m = self._message(max(0, end - time.monotonic()))
            assert m is not None, f"{method}: no answer within {seconds} s"
            if m.get("id") == self.last:
                return m
            self._note(m)

    # -- what a person does -----------------------------------------------------------------------------------------

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        """light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def scripts(self, on):
        self.ask("Emulation.setScriptExecutionDisabled", value=not on)

    def go(self, url):
        self.ask("Page.navigate", url=url)

    def js(self, expression):
        """The value of an expression in the page."""
        r = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, f"{expression}: {r['exceptionDetails']}"
        return r["result"].get("value")

    def until(self, expression, seconds=180):
        """Wait until it is true; its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.js(expression)
            if value:
                return value
            assert time.monotonic() < end, f"not within {seconds} s: {expression}\n{self.complaints}"
            time.sleep(0.05)

    def picture(self, path):
        """The whole page as PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))


def _above(descriptor):
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
