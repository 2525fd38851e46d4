-- Extends a worker's leases, never shortening one, and notes which deliveries were started.
-- KEYS 1 shard    ARGV 1 worker, 2 lease ms, then for each delivery: id (16), fence (8), token (16), started (1)
-- Replies a byte for each: 1 held · 0 lost
-- Cost O(log n) a delivery. Safe to repeat.
local lease_now = lease_clock()
call('ZADD', tag .. ':workers', text(lease_now), ARGV[1])
local deadline = text(lease_now + tonumber(ARGV[2]))
local answers, leases = {}, {}
for at = 3, #ARGV do
  local id, hold, started = struct.unpack('>c16c24B', ARGV[at])
  local raw = held(id, hold)
  answers[#answers + 1] = string.char(raw and 1 or 0)
  if raw then
    leases[#leases + 1] = deadline
    leases[#leases + 1] = id
    local flags = string.byte(raw, 2)
    if started == 1 and not has(flags, STARTED) then
      call('SETRANGE', JOB .. id, '1', string.char(bit.bor(flags, STARTED)))
    end
  end
end
if #leases > 0 then call('ZADD', LEASED, 'XX', 'GT', unpack(leases)) end
return table.concat(answers)
