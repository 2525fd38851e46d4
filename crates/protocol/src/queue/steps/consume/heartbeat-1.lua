-- Extends a worker's leases, never shortening one, and records its report about each delivery.
-- KEYS 1 shard    ARGV 1 worker, 2 lease ms, then for each delivery: id (16), fence (8), token (16), 1 started + 2 shielded + 4 alone
-- Replies a byte for each: 1 held · 0 lost
-- Cost O(log n) a delivery. Safe to repeat.
local s = shard_of(KEYS[1], ARGV)
local lease_now = lease_clock(s)
redis.call('ZADD', s.workers, text(lease_now), ARGV[1])
local deadline = text(lease_now + tonumber(ARGV[2]))
local answers, leases = {}, {}
for at = 3, #ARGV do
  local id, hold, report = struct.unpack('>c16c24B', ARGV[at])
  local raw = held(s, id, hold)
  answers[#answers + 1] = string.char(raw and 1 or 0)
  if raw then
    leases[#leases + 1] = deadline
    leases[#leases + 1] = id
    local noted = string.sub(raw, 2, 3)
    local flags, fields = string.byte(noted, 1, 2)
    if has(report, 1) then flags = bit.bor(flags, STARTED) end
    fields = bit.band(fields, FIELDS) + 8 * bit.band(report, 6)
    local notes = string.char(flags, fields)
    if notes ~= noted then redis.call('SETRANGE', s.job .. id, '1', notes) end
  end
end
if #leases > 0 then redis.call('ZADD', s.leased, 'XX', 'GT', unpack(leases)) end
save(s)
return table.concat(answers)
