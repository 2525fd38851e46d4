-- Gives this server a range that the database has committed, raises the witness to its end, and takes the first numbers.
-- KEYS 1 witness, 2 range    ARGV 1 first number, 2 first number after it, 3 how many are taken
-- Replies {1, first number, first number after them} loaded · {0, 0, 0} another range is not used up · {-1, witness, 0} it begins below the witness
-- Cost O(1). Not to be repeated: if the server is flushed in between, the numbers are handed out again.
local witness = tonumber(redis.call('GET', KEYS[1]) or '0')
if not witness then error('another program has changed ' .. KEYS[1]) end
local first, last = tonumber(ARGV[1]), tonumber(ARGV[2])
if first < witness then return { -1, witness, 0 } end -- guard: id_range_above_witness
if range_of(KEYS[2]) then return { 0, 0, 0 } end -- guard: id_range_used_up
local after = math.min(first + tonumber(ARGV[3]), last)
redis.call('HSET', KEYS[2], 'next', string.format('%.0f', after), 'end', ARGV[2], 'tag', tag_of_this_server())
redis.call('SET', KEYS[1], ARGV[2])
return { 1, first, after }
