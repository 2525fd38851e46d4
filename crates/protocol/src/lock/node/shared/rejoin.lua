-- Before acquire-3.lua: rejects a delayed rejoin of an owner that has released its lock (KEYS 5 tombstone).
-- Cost O(1).
if redis.call('EXISTS', KEYS[5]) == 1 then return { -1, 0, 0 } end
