-- Put before release-3.lua, for an owner that may have a rejoin on its way (KEYS 4 tombstone, ARGV 5 for how many ms).
-- Cost O(1).
call('SET', KEYS[4], '', 'PX', ARGV[5])
