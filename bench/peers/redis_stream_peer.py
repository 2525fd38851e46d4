"""A consumer of a Redis stream with redis-py, asked as the other peers are (bench/src/peer.rs): one JSON object a line in, one number out.

It appends in pipelines while a consumer reads pages, handles and acknowledges them, as the plain commands that Evenkeel is compared with
(bench/src/stream/raw.rs).
"""

import asyncio
import json
import sys
import time

import redis.asyncio as redis

LOG = "python"
GROUP = "bench"
BODY = b"x" * 100
BULK = 500
PAGE = 100


class Peer:
    def __init__(self, url):
        # A connection each: the consumer blocks.
        self.producer = redis.from_url(url)
        self.consumer = redis.from_url(url)

    async def append(self, entries, keys):
        for first in range(0, entries, BULK):
            pipeline = self.producer.pipeline(transaction=False)
            for number in range(first, min(first + BULK, entries)):
                pipeline.xadd(LOG, {"k": f"key:{number % keys}", "e": BODY})
            await pipeline.execute()

    async def consume(self, entries):
        seen = 0
        while seen < entries:
            reply = await self.consumer.xreadgroup(GROUP, "one", {LOG: ">"}, count=PAGE, block=1000)
            # RESP3 replies are maps, RESP2 replies are lists of pairs.
            streams = reply.values() if isinstance(reply, dict) else [page for _, page in reply]
            for page in streams:
                if isinstance(reply, dict) and page and isinstance(page[0], list):
                    page = page[0]
                ids = [identity for identity, fields in page if fields[b"e"]]
                seen += len(ids)
                if ids:
                    await self.consumer.xack(LOG, GROUP, *ids)

    async def work(self, asked):
        start = time.perf_counter()
        await asyncio.gather(self.append(asked["tasks"], asked["keys"]), self.consume(asked["tasks"]))
        return asked["tasks"] / (time.perf_counter() - start)


async def main():
    peer = Peer(sys.argv[1])
    await peer.producer.xgroup_create(LOG, GROUP, id="0", mkstream=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        print(await getattr(peer, asked["peer"])(asked), flush=True)


asyncio.run(main())
