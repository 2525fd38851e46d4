"""cashews (Python) over the same Redis, asked as the other peers are: one JSON object a line in, operations a second out."""

import asyncio
import json
import random
import sys
import time

from cashews import cache

USER = {"id": 1234567890, "name": "Augusta Ada King Lovelace", "mail": "ada.lovelace@example.org", "active": True}


@cache(ttl="1h", key="cashews:row:{key}")
async def row(key):
    return dict(USER)


async def fill(keys):
    for first in range(0, keys, 64):
        await asyncio.gather(*(row(key=key) for key in range(first, min(first + 64, keys))))


async def rate(keys, tasks, ms):
    start = time.perf_counter()
    end = start + ms / 1000
    reads = 0

    async def reader(seed):
        nonlocal reads
        draw = random.Random(seed)
        while time.perf_counter() < end:
            found = await row(key=draw.randrange(keys))
            assert found["active"]
            reads += 1

    await asyncio.gather(*(reader(seed) for seed in range(tasks)))
    return reads / (time.perf_counter() - start)


async def main():
    cache.setup(sys.argv[1])
    filled = 0
    for line in sys.stdin:
        asked = json.loads(line)
        if filled < asked["keys"]:
            await fill(asked["keys"])
            filled = asked["keys"]
        print(await rate(asked["keys"], asked["tasks"], asked["ms"]), flush=True)


asyncio.run(main())
