"""redis-py's Lock over the same Redis, asked as rslock is (src/bin/lock.rs): one JSON object a line in, one number out.

What waits asks again every 100 ms, its default.
"""

import asyncio
import json
import sys
import time

import redis.asyncio
import uvloop

TTL = 30
# Of locks that are renewed, and how often they are.
HELD_TTL = 30
EVERY = 1.0
AT_ONCE = 64
# Until everybody waits.
QUEUED = 0.1


class Peer:
    def __init__(self, url):
        self.url = url
        self.client = redis.asyncio.from_url(url)
        self.clients = []
        self.held = []

    def lock(self, client, name, ttl=TTL):
        # Not bound to a thread: its tokens would be looked up there.
        return client.lock(name, timeout=ttl, thread_local=False)

    def apart(self, tasks):
        while len(self.clients) < tasks:
            self.clients.append(redis.asyncio.from_url(self.url))
        return self.clients[:tasks]

    async def pairs(self, asked):
        start = time.perf_counter()
        end = start + asked["ms"] / 1000
        pairs = 0

        async def task(number):
            nonlocal pairs
            while time.perf_counter() < end:
                lock = self.lock(self.client, f"peer/{number}")
                await lock.acquire()
                await lock.release()
                pairs += 1

        await asyncio.gather(*(task(number) for number in range(asked["tasks"])))
        return pairs / (time.perf_counter() - start)

    async def hand_over(self, clients):
        """From the release until the last waiter has had it, for each of them, in ms."""
        first = self.lock(clients[0], "peer/hot")
        await first.acquire()

        async def wait(client):
            lock = self.lock(client, "peer/hot")
            await lock.acquire()
            at = time.perf_counter()
            await lock.release()
            return at

        waiting = [asyncio.ensure_future(wait(client)) for client in clients[1:]]
        await asyncio.sleep(QUEUED)
        start = time.perf_counter()
        await first.release()
        last = max(await asyncio.gather(*waiting))
        return (last - start) * 1000 / len(waiting)

    async def holds(self, clients, hold):
        async def task(client):
            lock = self.lock(client, "peer/hot")
            await lock.acquire()
            await asyncio.to_thread(time.sleep, hold)
            await lock.release()

        start = time.perf_counter()
        await asyncio.gather(*(task(client) for client in clients))
        return (time.perf_counter() - start) * 1000

    async def take(self, keys):
        names = iter(range(keys))

        async def task():
            for name in names:
                lock = self.lock(self.client, f"peer/held/{name}", HELD_TTL)
                await lock.acquire()
                self.held.append(lock)

        await asyncio.gather(*(task() for _ in range(AT_ONCE)))
        return 0

    async def renew(self, span):
        """Renewals a second, each lock's once in EVERY; it stops at what it can."""
        start = time.perf_counter()
        end = start + span
        renewed = 0

        async def task(share):
            nonlocal renewed
            turn = 0
            while True:
                for lock in share:
                    if time.perf_counter() >= end:
                        return
                    await lock.reacquire()
                    renewed += 1
                turn += 1
                await asyncio.sleep(max(0, min(start + EVERY * turn, end) - time.perf_counter()))

        await asyncio.gather(*(task(self.held[number::AT_ONCE]) for number in range(AT_ONCE)))
        return renewed / (time.perf_counter() - start)

    async def give_back(self):
        held, self.held = iter(self.held), []

        async def task():
            for lock in held:
                await lock.release()

        await asyncio.gather(*(task() for _ in range(AT_ONCE)))
        return 0

    async def ask(self, asked):
        tasks, what = asked["tasks"], asked["peer"]
        match what:
            case "pairs":
                return await self.pairs(asked)
            case "hand-over":
                return await self.hand_over([self.client] * (tasks + 1))
            case "hand-over apart":
                return await self.hand_over(self.apart(tasks + 1))
            case "holds":
                return await self.holds([self.client] * tasks, asked["ms"] / 1000)
            case "holds apart":
                return await self.holds(self.apart(tasks), asked["ms"] / 1000)
            case "take":
                return await self.take(asked["keys"])
            case "renew":
                return await self.renew(asked["ms"] / 1000)
            case "give back":
                return await self.give_back()
        raise ValueError(f"unknown request: {what}")


async def main():
    peer = Peer(sys.argv[1])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(await peer.ask(json.loads(line)), flush=True)


uvloop.run(main())
