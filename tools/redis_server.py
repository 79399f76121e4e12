"""A redis-server of one's own: on a free port of the loopback, in a folder that goes with it.
Nothing of it is kept on disk, so whatever ends it, it comes back empty."""

import signal
import socket
import subprocess
import tempfile
import time

START_WITHIN = 30  # seconds


class RedisServer:
    """Running from its making to stop() or the end of its `with`."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self._process = None
        self.port = None
        for _ in range(10):
            port = _free_port()
            if self._start(port):
                self.port = port
                return
        raise RuntimeError("redis-server does not start")

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self):
        return self._process.pid

    def ask(self, *words):
        """The first line of the answer, or None: it does not answer."""
        return _ask(self.port, words)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def start(self):
        """Again, on the same port, after kill()."""
        if not self._start(self.port):
            raise RuntimeError(f"redis-server does not come back on port {self.port}")

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self, port):
        """Once it answers; false: somebody else has the port."""
        self._process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir",
             self._folder.name, "--save", "", "--appendonly", "no"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_WITHIN
        while self._process.poll() is None and time.monotonic() < deadline:
            if _ask(port, ["PING"]) == "+PONG":
                return True
            time.sleep(0.01)
        if self._process.poll() is None:
            self.kill()
        return False


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _ask(port, words):
    request = f"*{len(words)}\r\n" + "".join(f"${len(word.encode())}\r\n{word}\r\n"
                                             for word in words)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(request.encode())
            return connection.makefile("rb").readline().decode().rstrip("\r\n") or None
    except OSError:
        return None
