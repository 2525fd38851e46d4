-- Before acquire-3.lua: only a member grants locks (KEYS 4 server, ARGV 9 its boot id), with fencing tokens above its floor.
-- Cost O(1). A key of another type was written by another program and is ignored.
local mark = redis.pcall('HMGET', KEYS[4], 'boot', 'member', 'floor')
local boot, is_member, issued = unpack(mark.err and {} or mark)
if boot ~= ARGV[9] or is_member ~= '1' then return { -1, 0, 0 } end -- guard: redlock_outsider
if tonumber(issued or 0) > tonumber(ARGV[6]) then ARGV[6] = issued end -- guard: redlock_floor
