"""arq (Python) over the same Redis, asked as the other peers are: one JSON object a line in, one out (bench/src/queue/peer.rs).

It polls. Its default is every half second; here it is every 10 ms, which it is quicker with.
"""

import asyncio
import json
import sys
import time
from datetime import timedelta

import uvloop
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker, func

BODY = "x" * 100
DAY = timedelta(days=1)
CONCURRENCY = 100
POLL_SECONDS = 0.01
# Sends at once where many are to be sent: it has no call for many.
SENDERS = 64


async def gathered(jobs, send):
    for first in range(0, jobs, SENDERS):
        await asyncio.gather(*(send(at) for at in range(first, min(first + SENDERS, jobs))))


class Peer:
    def __init__(self, settings, pool):
        self.settings = settings
        self.pool = pool

    async def send(self, asked):
        start = time.perf_counter()
        end = start + asked["ms"] / 1000
        sent = 0

        async def sender():
            nonlocal sent
            while time.perf_counter() < end:
                await self.pool.enqueue_job("job", BODY, _defer_by=DAY)
                sent += 1

        await asyncio.gather(*(sender() for _ in range(asked["tasks"])))
        return {"rate": sent / (time.perf_counter() - start)}

    async def fill(self, asked):
        await gathered(asked["jobs"], lambda at: self.pool.enqueue_job("job", BODY, _defer_by=DAY))
        return {}

    async def until(self, jobs, begun):
        """Runs a worker until it has begun so many jobs."""
        count = 0
        done = asyncio.Event()

        async def job(context, body, due=None):
            nonlocal count
            begun(due)
            count += 1
            if count == jobs:
                done.set()

        worker = Worker(
            functions=[func(job, name="job")],
            redis_settings=self.settings,
            max_jobs=CONCURRENCY,
            poll_delay=POLL_SECONDS,
            handle_signals=False,
            keep_result=0,
            log_results=False,
        )
        running = asyncio.ensure_future(worker.async_run())
        finished = asyncio.ensure_future(done.wait())
        await asyncio.wait([running, finished], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        await asyncio.gather(*worker.tasks.values())
        running.cancel()
        await worker.close()

    async def work(self, asked):
        jobs = asked["jobs"]
        await gathered(jobs, lambda at: self.pool.enqueue_job("job", BODY))
        times = []
        await self.until(jobs, lambda due: times.append(time.perf_counter()))
        return {"rate": jobs / (times[-1] - times[0])}

    async def late(self, asked):
        jobs, start = asked["jobs"], time.time() + asked["lead_ms"] / 1000

        def send(at):
            due = start + at / asked["per_second"]
            delay = timedelta(seconds=due - time.time())
            return self.pool.enqueue_job("job", BODY, due, _defer_by=delay)

        await gathered(jobs, send)
        late = []
        await self.until(jobs, lambda due: late.append((time.time() - due) * 1000))
        late.sort()

        def at(part):
            return late[min(len(late) - 1, int(len(late) * part))]

        return {"p50": at(0.5), "p99": at(0.99), "max": at(1)}


async def main():
    settings = RedisSettings.from_dsn(sys.argv[1])
    peer = Peer(settings, await create_pool(settings))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        print(json.dumps(await getattr(peer, asked["do"])(asked)), flush=True)


uvloop.run(main())
