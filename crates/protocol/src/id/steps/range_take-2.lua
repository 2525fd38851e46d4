-- Takes numbers of the range that this server hands out.
-- KEYS 1 witness, 2 range    ARGV 1 how many, 2 the least number that is taken
-- Replies {1, first number, first number after them} taken · {0, 0, 0} there is no such range: it is used up, or was given to another server
-- Cost O(1). A repeat takes other numbers.
local first, last = range_of(KEYS[2])
if not first then return { 0, 0, 0 } end
first = math.max(first, tonumber(ARGV[2])) -- guard: id_range_rises
if first >= last then return { 0, 0, 0 } end
local after = math.min(first + tonumber(ARGV[1]), last)
redis.call('HSET', KEYS[2], 'next', string.format('%.0f', after))
return { 1, first, after }
