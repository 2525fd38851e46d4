-- Before release-3.lua, for an owner whose rejoin may still be in the network (KEYS 4 tombstone, ARGV 5 its ttl, ms).
-- Cost O(1).
redis.call('SET', KEYS[4], '', 'PX', ARGV[5])
