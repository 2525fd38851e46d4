"""A worker of Evenkeel's queues over HTTP. Standard library only; copy this file into your program.

    def handle(job):               # job: {"id", "body", "attempt", "fence", "sender_id", ...}
        send_mail(job["body"])     # an exception is a failed attempt; raise Dead(reason) for a permanent one

    Worker("http://127.0.0.1:8420", "mail", handle).run()

From a shell, with a function of a module: python3 evenkeel_worker.py http://127.0.0.1:8420 mail module:function
The token of an API key is in EVENKEEL_TOKEN; `evenkeel token new NAME --scope work:mail` prints one.

A job runs at least once: after a crash of this process it runs again when its lease has expired. Make the handler idempotent, by the
job's id or by its fence.
"""

import importlib
import json
import os
import secrets
import signal
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

RETRY_MS = [10_000, 60_000, 300_000, 1_800_000, 3_600_000]


class Dead(Exception):
    """The job can never succeed: it becomes a dead letter."""


class Stale(Exception):
    """Another process used the name of this worker."""


class Worker:
    def __init__(self, url, topic, handle, token=None, source="default", batch=10, lease_s=30.0, wait_s=15.0):
        topic = urllib.parse.quote(topic, safe="")
        self.root = f"{url.rstrip('/')}/api/v1/sources/{urllib.parse.quote(source, safe='')}/topics/{topic}"
        self.token = token or os.environ.get("EVENKEEL_TOKEN")
        self.handle, self.batch, self.lease_s, self.wait_s = handle, batch, lease_s, wait_s
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.held = {}  # by token: [job, whether its handler has begun]
        self.rename()

    def rename(self):
        self.name, self.sequence = secrets.token_hex(16), 0

    def run(self):
        """Works until `stop` is called, then gives unfinished jobs back."""
        threading.Thread(target=self.keep_leases, daemon=True).start()
        outcomes = []
        while not self.stopping.is_set() or outcomes:
            want = 0 if self.stopping.is_set() else self.batch
            try:
                jobs = self.work(outcomes, want)
            except Stale:
                # What was to be settled runs again when its lease has expired.
                self.rename()
                jobs = []
            with self.lock:
                self.held = {job["token"]: [job, False] for job in jobs}
            outcomes = [outcome for outcome in map(self.attempt, jobs) if outcome]

    def stop(self, *_):
        self.stopping.set()

    def work(self, outcomes, want):
        """One call: settles, then claims. Without a reply the same call goes again: it gets the reply of the first one."""
        self.sequence += 1
        call = {"worker": self.name, "sequence": self.sequence, "settle": outcomes, "want": want}
        call |= {"lease_ms": int(self.lease_s * 1000), "wait_ms": 0 if outcomes else int(self.wait_s * 1000)}
        sent, worked = self.until_answered("/work", call, self.wait_s + 20)
        for job in worked["jobs"]:
            # From the sending of the call, so that the deadline errs early.
            job["deadline"] = sent + (worked["waited_ms"] + job["lease_ms"]) / 1000
        return worked["jobs"]

    def attempt(self, job):
        """Runs the handler; returns the outcome, or nothing if the job is no longer ours."""
        if self.stopping.is_set():
            return outcome(job, "released")
        # The start is reported first: without it a job that kills its worker would come back for ever.
        with self.lock:
            if job["token"] in self.held:
                self.held[job["token"]][1] = True
        if not self.pulse([], [job])["started"][0] or time.monotonic() >= job["deadline"]:
            return None
        try:
            if "unreadable" in job:
                raise Dead(job["unreadable"])
            self.handle(job)
            return outcome(job, "done")
        except Dead as dead:
            return outcome(job, "dead", error=str(dead))
        except Exception as error:
            traceback.print_exc()
            delay = RETRY_MS[min(job["attempt"] - 1, len(RETRY_MS) - 1)]
            return outcome(job, "failed", error=repr(error)[:1000], delay_ms=delay)

    def keep_leases(self):
        """Extends the leases of the claimed jobs three times in each lease."""
        while True:
            time.sleep(self.lease_s / 3)
            with self.lock:
                jobs = list(self.held.values())
            if jobs:
                try:
                    self.pulse([job for job, begun in jobs if not begun], [job for job, begun in jobs if begun])
                except Exception:
                    traceback.print_exc()

    def pulse(self, held, started):
        call = {"worker": self.name, "lease_ms": int(self.lease_s * 1000)}
        call |= {"held": [named(job) for job in held], "started": [named(job) for job in started]}
        sent, answer = self.until_answered("/heartbeat", call, self.lease_s)
        for job, is_held in zip(held + started, answer["held"] + answer["started"]):
            job["deadline"] = sent + self.lease_s if is_held else 0.0
        return answer

    def until_answered(self, path, call, timeout_s):
        """Returns when the answered call was sent, and the answer."""
        pause = 0.1
        while True:
            sent = time.monotonic()
            try:
                return sent, self.post(path, call, timeout_s)
            except urllib.error.HTTPError as error:
                problem = error.read().decode(errors="replace")
                if "stale-call" in problem:
                    raise Stale from None
                if error.code not in (408, 429, 500, 502, 503, 504):
                    raise RuntimeError(f"the server refuses the call: {problem}") from None
            except OSError as error:
                print(f"no reply ({error}); sending the same call again", file=sys.stderr)
            time.sleep(pause * (0.5 + secrets.randbelow(500) / 1000))
            pause = min(pause * 2, 5.0)

    def post(self, path, call, timeout_s):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.root + path, json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.load(response)


def named(job):
    return {name: job[name] for name in ("id", "token", "fence")}


def outcome(job, word, **more):
    return {**named(job), "outcome": word, **more}


def main():
    url, topic, function = sys.argv[1:4]
    module, name = function.split(":")
    sys.path.insert(0, os.getcwd())
    lease_s = float(os.environ.get("EVENKEEL_LEASE_S", "30"))
    worker = Worker(url, topic, getattr(importlib.import_module(module), name), lease_s=lease_s)
    signal.signal(signal.SIGTERM, worker.stop)
    worker.run()


if __name__ == "__main__":
    main()
