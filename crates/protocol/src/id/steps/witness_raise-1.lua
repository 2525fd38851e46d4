-- Raises the witness of a sequence to the end of a block, unless the block begins below it.
-- KEYS 1 witness    ARGV 1 first number of the block, 2 first number after it
-- Replies {1, 0} raised · {0, witness} the block begins below it
-- Cost O(1). Not to be repeated: a repeat is refused, and its block is lost.
local witness = tonumber(redis.call('GET', KEYS[1]) or '0')
if not witness then error('another program has changed ' .. KEYS[1]) end
if tonumber(ARGV[1]) < witness then return { 0, witness } end -- guard: id_witness_refuses
redis.call('SET', KEYS[1], ARGV[2])
return { 1, 0 }
