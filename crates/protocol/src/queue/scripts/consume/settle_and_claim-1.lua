-- Settles a worker's deliveries, then leases due jobs to it. The reply is stored until the worker's next call.
-- KEYS 1 shard    ARGV 1 worker, 2 sequence, 3 lease ms, 4 limit, 5 token, 6 fence floor,
--   7 to 9 slots, level and number of the suspects that run (shared/consume/suspects.lua), then settlements (shared/consume/settle.lua)
-- Replies nothing: stale, a higher sequence was first; or verdicts (a byte each), now, next due (-1 none), deliveries (shared/consume/claim.lua)
-- Cost O((settlements + limit) log n). A repeat of the same sequence gets the same reply.
local worker, sequence, limit, token = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[5]
local kept = call('HGET', ANSWERS, worker)
local last = kept and struct.unpack('>I8', kept) or 0
if last > sequence then return false end -- guard: queue_sequence_stale
check_types(WORKERS, WAKE) -- guard: queue_types_checked
local lease_now = lease_clock()
call('ZADD', WORKERS, text(lease_now), worker)
if last == sequence then return repeat_answer(kept, lease_now) end -- guard: queue_answer_kept

local floor = tonumber(ARGV[6])
if floor > meta.floor then
  meta.floor = floor
  call('HSET', META, 'floor', ARGV[6])
end
local before = -1 -- claims and completed jobs never move the earliest due time forward
for at = 10, #ARGV do
  if before == -1 and string.byte(ARGV[at]) ~= ACK then before = earliest() end
end
local verdicts = settle_all(10)

local lease, out = { token = token, span = tonumber(ARGV[3]), taken = {}, bytes = 0, room = room_of(7) }, {}
lease.fits = meta.record_max <= INLINE_MAX and meta.record_max * limit <= CLAIM_MAX
for _, priority in ipairs(in_use()) do
  local stop = limit <= 0
  if meta.paused > NOW then stop = true end -- guard: queue_paused
  if not stop then stop, limit = claim_from(DUE[priority], limit, lease, out) end
  if stop then break end
end
local leases, deadline = {}, text(lease_now + lease.span)
for at, id in ipairs(lease.taken) do leases[2 * at - 1], leases[2 * at] = deadline, id end
if #leases > 0 then call('ZADD', LEASED, unpack(leases)) end
local first = leave_markers(before)
keep_answer(worker, sequence, token, verdicts, lease.taken)
save_totals()
return { verdicts, NOW, next_due(first), out }
