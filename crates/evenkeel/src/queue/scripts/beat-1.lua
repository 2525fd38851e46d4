-- Extends a worker's leases, never shortening one, and notes which deliveries were started.
-- KEYS 1 shard    ARGV 1 worker, 2 lease ms, then for each delivery: id (16), fence (8), token (16), started (1)
-- Replies a byte for each: 1 held · 0 lost
-- Cost O(log n) a delivery. Safe to repeat.
local lease_now = lease_clock()
call('ZADD', tag .. ':workers', lease_now, ARGV[1])
local deadline = lease_now + tonumber(ARGV[2])
local held, leases = {}, {}
for at = 3, #ARGV do
  local id, fence, token, started = struct.unpack('>c16I8c16B', ARGV[at])
  local j = current(id, token, fence)
  held[#held + 1] = string.char(j and 1 or 0)
  if j then
    leases[#leases + 1] = deadline
    leases[#leases + 1] = id
    if started == 1 and not has(j.flags, STARTED) then
      j.flags = bit.bor(j.flags, STARTED)
      call('SETRANGE', JOB .. id, 0, head(j))
    end
  end
end
if #leases > 0 then call('ZADD', LEASED, 'XX', 'GT', unpack(leases)) end
return table.concat(held)
