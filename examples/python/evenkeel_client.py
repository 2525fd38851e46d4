"""A client of Evenkeel's JSON API: jobs, locks and caches. Standard library only; copy this file into your program.

    client = Client("http://127.0.0.1:8420", token=None)
    client.enqueue("mail", [{"id": "welcome/42", "delay_ms": 300_000, "body": {"user": 42}}])
    client.invalidate("user", "42")
    with client.lock("stock/42", ttl_s=30) as lock:
        ...  # store lock.fence with the first protected write, and check lock.is_held() before each step

From a shell, jobs as JSON lines: python3 evenkeel_client.py http://127.0.0.1:8420 mail < jobs.jsonl
The token of an API key is in EVENKEEL_TOKEN; `evenkeel token new NAME --scope enqueue:mail` prints one.
"""

import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ATTEMPTS = 8


class Refused(Exception):
    """The server refused a request. `outcome` is none, partial or unknown."""

    def __init__(self, status, problem):
        super().__init__(problem.get("detail") or f"HTTP {status}")
        self.status, self.problem = status, problem
        self.outcome = problem.get("outcome", "unknown")


class Client:
    def __init__(self, url, token=None, source="default"):
        self.root = f"{url.rstrip('/')}/api/v1/sources/{quoted(source)}"
        self.token = token or os.environ.get("EVENKEEL_TOKEN")

    def enqueue(self, topic, jobs):
        """Adds up to 100 jobs, and returns id and result of each. A repeat after a lost reply adds none twice."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        added = self.post(f"/topics/{quoted(topic)}/jobs", {"jobs": jobs}, headers)["jobs"]
        if any(job["result"] in ("full", "elsewhere") for job in added):
            raise Refused(503, {"detail": "the queue is full; send the jobs again later", "outcome": "partial"})
        return added

    def revoke(self, topic, job_id):
        return self.post(f"/topics/{quoted(topic)}/jobs/{job_id}/revoke", {})["result"]

    def invalidate(self, cache, key, **options):
        """Call it after the commit. It does not survive a crash in between: a row in `evenkeel_outbox` does."""
        self.post(f"/caches/{quoted(cache)}/invalidate", {"key": key, **options})

    def lock(self, name, ttl_s=30.0, wait_s=10.0, metadata=""):
        return Lock(self, name, ttl_s, wait_s, metadata)

    def post(self, path, body, headers=None, timeout_s=40.0):
        """Sends the same request until it is answered, at most eight times. Every request of this file may be repeated."""
        for attempt in range(ATTEMPTS):
            try:
                return self.post_once(path, body, headers, timeout_s)
            except Refused as refused:
                if refused.status not in (408, 429, 503) or attempt + 1 == ATTEMPTS:
                    raise
            except OSError:
                if attempt + 1 == ATTEMPTS:
                    raise
            time.sleep(min(0.1 * 2**attempt, 5.0) * (0.5 + secrets.randbelow(500) / 1000))

    def post_once(self, path, body, headers=None, timeout_s=40.0):
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json", **(headers or {})})
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, problem_of(error)) from None


class Lock:
    """A lock with a lease. The deadline counts from the sending of the request, so it errs early."""

    def __init__(self, client, name, ttl_s, wait_s, metadata):
        self.client, self.name, self.ttl_s, self.wait_s, self.metadata = client, name, ttl_s, wait_s, metadata
        self.fence, self.deadline, self.owner = None, 0.0, None

    def acquire(self):
        self.owner, until = secrets.token_hex(16), time.monotonic() + self.wait_s
        while True:
            left = max(until - time.monotonic(), 0.0)
            call = {"wait_ms": min(int(left * 1000), 20_000), "metadata": self.metadata, **self._call(), **self._ttl()}
            sent, granted = self._send("acquire", call)
            if granted["is_granted"]:
                self.fence = int(granted["fence"])
                self.deadline = sent + (granted["waited_ms"] + granted["lease_ms"]) / 1000
                if self.is_held():
                    return self
            if time.monotonic() >= until:
                self.release()
                raise TimeoutError(f"the lock {self.name} is held")

    def is_held(self):
        return time.monotonic() < self.deadline

    def renew(self):
        """Renews the lease; false: the lock is lost."""
        sent, renewed = self._send("renew", {**self._call(), **self._ttl()})
        self.deadline = sent + renewed["lease_ms"] / 1000 if renewed["is_held"] else 0.0
        return self.is_held()

    def release(self):
        self.deadline = 0.0
        self.client.post("/locks/release", self._call())

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()

    def _call(self):
        return {"name": self.name, "owner": self.owner}

    def _ttl(self):
        return {"ttl_ms": int(self.ttl_s * 1000)}

    def _send(self, what, call):
        # Only the sending that was answered counts: a repeat may be answered long after the first one.
        for attempt in range(ATTEMPTS):
            sent = time.monotonic()
            try:
                return sent, self.client.post_once(f"/locks/{what}", call)
            except Refused as refused:
                if refused.status not in (408, 429, 503) or attempt + 1 == ATTEMPTS:
                    raise
            except OSError:
                if attempt + 1 == ATTEMPTS:
                    raise
            time.sleep(0.1 * 2**attempt)


def quoted(text):
    return urllib.parse.quote(text, safe="")


def problem_of(error):
    try:
        return json.load(error)
    except (ValueError, OSError):
        return {}


def main():
    url, topic = sys.argv[1:3]
    client, jobs = Client(url), [json.loads(line) for line in sys.stdin if line.strip()]
    for start in range(0, len(jobs), 100):
        for added in client.enqueue(topic, jobs[start : start + 100]):
            print(added["id"], added["result"])


if __name__ == "__main__":
    main()
