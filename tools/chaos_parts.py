"""What tools/chaos works with: replicas as processes, the command line, and what is judged: the run
log, which the commands themselves write, and histories. Decides nothing about when what fails."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

# Bash tells the time by itself: no further process.
COMMAND = ('echo "start $STAGECALL_KEY $$ $EPOCHREALTIME" >> "$0"; sleep "$1"; '
           'echo "end $STAGECALL_KEY $$ $EPOCHREALTIME" >> "$0"')

LOST_MAX = 1_000  # whoever is killed often enough must not fail a run

LogLine = collections.namedtuple("LogLine", "word key pid at")


def node_of(key):
    """PIPELINE/ITERATION/NODE of PIPELINE/ITERATION/NODE/ATTEMPT@NONCE"""
    return key.rpartition("/")[0]


class Home:
    """A store in a folder of its own, and the built command line on it."""

    def __init__(self, folder, binary, leases, tick, ttl):
        self.folder = pathlib.Path(folder)
        self.binary = binary
        self.common = ["--leases", leases, "--tick", f"{tick}ms", "--lease-ttl", f"{ttl}ms"]
        self.log_path = self.folder / "run.log"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("STAGECALL_")}
        self.environment |= {"HOME": str(folder), "XDG_STATE_HOME": str(self.folder / "state"),
                             "XDG_CONFIG_HOME": str(self.folder / "config"),
                             "LC_ALL": "C"}  # of which Bash's time takes its decimal point

    def call(self, *arguments):
        """(exit code, stdout)"""
        answer = subprocess.run([self.binary, *arguments], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=False)
        return answer.returncode, answer.stdout

    def start(self, pipeline):
        file = self.folder / f"{pipeline['pipeline']}.json"
        file.write_text(json.dumps(pipeline), encoding="utf-8")
        code, _ = self.call("start", str(file), "--json")
        if code != 0:
            raise RuntimeError(f"start of {file} ends with {code}")

    def runs(self):
        """What `status` says of each run; none while it cannot be asked."""
        code, text = self.call("status", "--json")
        return json.loads(text)["runs"] if code == 0 else []

    def history(self, pipeline):
        _, text = self.call("history", pipeline, "--json")
        return [json.loads(line) for line in text.splitlines()]

    def log(self):
        if not self.log_path.exists():
            return []
        text = self.log_path.read_text(encoding="utf-8")
        lines = text[:text.rfind("\n") + 1].splitlines()
        return [LogLine(word, key, int(pid), float(at))
                for word, key, pid, at in (line.split() for line in lines)]

    def strands(self, pipeline, length, seconds, gate=None):
        """Two strands of commands, each after its last but one. From the one with the number `gate`
        on they wait for an external node as well."""
        nodes = [] if gate is None else [{"id": "gate", "external": True}]
        for i in range(length):
            after = [f"n{i - 2}"] if i >= 2 else []
            after += ["gate"] if gate in (i - 1, i) else []
            nodes.append({"id": f"n{i}", "after": after,
                          "command": ["bash", "-c", COMMAND, str(self.log_path), str(seconds)],
                          "retry": {"max_lost": LOST_MAX}})
        return {"pipeline": pipeline, "nodes": nodes}

    def processes(self):
        """Those that have this home in their environment."""
        mark = f"HOME={self.folder}\0".encode()
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in entry.read_bytes():
                    found.append(int(entry.parent.name))
            except OSError:
                pass
        return found


class Replica:
    """A `serve` process; serves once it is made."""

    def __init__(self, home, name, slots, patience=60):
        self.name = name
        self.is_stopped = False
        self._errors = home.folder / f"{name}.err"
        with open(self._errors, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [home.binary, "serve", "--json", "--replica", name, "--slots", str(slots),
                 *home.common],
                env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=errors, text=True)
        if not wait_until(lambda: "serves " in self.errors() or self.process.poll() is not None,
                          patience) or self.process.poll() is not None:
            raise RuntimeError(f"replica {name} does not serve: {self.errors()}")

    def errors(self):
        return self._errors.read_text(encoding="utf-8")

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def pause(self):
        self.is_stopped = True
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.is_stopped = False
        self.process.send_signal(signal.SIGCONT)

    def drain(self):
        """What it says that it did; None: it did not end in order."""
        self.go_on()
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate()
        return json.loads(out) if self.process.returncode == 0 else None


class Watch:
    """Asks `status` again and again: passes per run and tick, and how long an answer takes."""

    def __init__(self, home, tick):
        self._home = home
        self._tick = tick / 1000
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.ratios = []
        self.slowest = 0.0
        self.unanswered = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _watch(self):
        before = None
        while not self._over.wait(max(1.0, 2 * self._tick)):
            asked = time.monotonic()
            runs = {run["pipeline"]: run for run in self._home.runs()}
            self.slowest = max(self.slowest, time.monotonic() - asked)
            self.unanswered += 0 if runs else 1
            if before and runs:
                self._compare(before, runs)
            before = runs

    def _compare(self, before, runs):
        passes, ticks = 0, 0.0
        for name, run in runs.items():
            was = before.get(name)
            if was and run["status"] == "running":
                passes += run["passes"]["tick"] - was["passes"]["tick"]
                ticks += (run["seconds"] - was["seconds"]) / self._tick
        if ticks >= 5:
            self.ratios.append(passes / ticks)


def wait_until(is_so, patience):
    deadline = time.monotonic() + patience
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def faults_of_log(log, after_of):
    """ONCE: a key starts once. ORDER: a node starts after all it waits for have ended."""
    started, ended = set(), set()
    for line in log:
        if line.word == "end":
            ended.add(node_of(line.key))
            continue
        if line.key in started:
            yield f"launched twice: {line.key}"
        started.add(line.key)
        run, _, node = node_of(line.key).rpartition("/")
        for dependency in after_of[node]:
            if dependency != "gate" and f"{run}/{dependency}" not in ended:
                yield f"{line.key} started before {dependency} had ended"


def overlaps_of_log(log):
    """(earlier key, later key) of attempts of one node that were alive at the same time"""
    ends = {line.key: line.at for line in log if line.word == "end"}
    attempts = collections.defaultdict(list)
    for line in log:
        if line.word == "start":
            attempts[node_of(line.key)].append(line)
    for starts in attempts.values():
        for i, first in enumerate(starts):
            for later in starts[i + 1:]:
                if ends.get(first.key, 0) > later.at:
                    yield first.key, later.key


def repeats_of_log(log):
    """(earlier key, later key) of attempts of one node that both came to the end of the command"""
    ended = {}
    for line in log:
        if line.word == "end":
            node = node_of(line.key)
            if node in ended:
                yield ended[node], line.key
            ended[node] = line.key
