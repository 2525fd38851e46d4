-- Leases waiting jobs whose time has come: urgent ones first, then by due time, then by id.
-- Answers id, fence, due, lease left, record of each. Cost O(want log n).
local function give(id, j, due, raw, lease, out)
  local old = j.fence
  j.fence = NOW * 1000
  j.fence = math.max(j.fence, old + 1) -- guard: queue_fence_rises
  j.fence = math.max(j.fence, meta.floor + 1) -- guard: queue_fence_floor
  j.token, j.flags = lease.token, bit.band(j.flags, bit.bnot(STARTED))
  call('SETRANGE', JOB .. id, '0', head(j))
  local n = #out
  out[n + 1], out[n + 2], out[n + 3], out[n + 4], out[n + 5] = id, j.fence, due, lease.span, raw
  lease.taken[#lease.taken + 1] = id
end

-- One priority's share; true when no more may be taken.
local function claim_from(index, want, lease, out, gone)
  local horizon = '+inf'
  horizon = text(NOW) -- guard: queue_never_early
  local found = call('ZRANGEBYSCORE', index, '-inf', horizon, 'WITHSCORES', 'LIMIT', '0', text(want))
  if #found == 0 then return false, want end
  local keys = {}
  for at = 1, #found, 2 do keys[#keys + 1] = JOB .. found[at] end
  local records = call('MGET', unpack(keys))
  for at = 1, #found, 2 do
    local id, raw = found[at], records[(at + 1) / 2]
    local j = open(raw)
    local late = false
    if j and j.expires and NOW > j.expires then late = true end -- guard: queue_expired
    local suspect = j and (j.crashes > 0 or j.lapses > 1)
    if suspect and not late and #out > 0 then return true end -- guard: queue_alone
    gone[#gone + 1] = id
    if not j then
      add('ghosts', 1)
    elseif late then
      finish(id, j, EXPIRED)
    else
      give(id, j, found[at + 1], raw, lease, out)
      if suspect then return true end -- guard: queue_alone
    end
  end
  return false, want - #found / 2
end
