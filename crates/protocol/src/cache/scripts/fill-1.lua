-- Stores a loaded value under a grant; the lease may have expired meanwhile, but the generation must be unchanged.
-- KEYS 1 entry
-- ARGV 1 generation, 2 ordinal, 3 time of the grant, 4 version (8 bytes or empty), 5 row absent, 6 codec, 7 compression,
--      8 payload, 9 soft ms, 10 hard ms, 11 suspect ms, 12 lag ms of the replica it was read from (0: the primary),
--      13 spare ms
-- Replies 1 stored · 2 superseded · 3 below the floor · 4 gone
-- Cost O(size of the entry). A repeat stores the same value again.
local now, ordinal, at, version, lag = now_ms(KEYS[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[12])
local e = open_entry(KEYS[1], now)
if not e then return 4 end -- guard: fill_presence
if e.generation ~= ARGV[1] then return 2 end -- guard: fill_generation
-- The ordinal was not granted: a failover reverted the lease, and its ordinal will be granted again.
if ordinal > e.granted then return 2 end -- guard: fill_known_grant
if ordinal < e.filled then return 2 end -- guard: fill_grant
if #version > 0 and is_older(version, e.floor) then return 3 end -- guard: floor
if may_lack_writes(e, lag, at) then return 3 end -- guard: fill_replica
local hard_until = at + ARGV[10]
if e.suspect_until > now then
  hard_until = math.min(hard_until, now + ARGV[11]) -- guard: suspect_life
end
if hard_until <= now then return 4 end -- guard: fill_life
e.value, e.absent, e.stale, e.payload = true, ARGV[5] == '1', false, ARGV[8]
e.codec, e.compression, e.version = tonumber(ARGV[6]), tonumber(ARGV[7]), nil
e.loaded_at, e.soft_until, e.hard_until = at, math.min(hard_until, at + ARGV[9]), hard_until
e.filled = ordinal
if #version > 0 then
  e.version = version
  if is_older(e.floor, version) then e.floor = version end -- guard: floor_raised
end
if ordinal == e.granted then -- no later load needs the entry
  e.lease, e.ends_at = nil, e.suspect_until
end
e.ends_at = math.max(e.ends_at, hard_until)
e.ends_at = math.max(e.ends_at, at + ARGV[13]) -- guard: spare_life
save_entry(KEYS[1], e, now)
return 1
