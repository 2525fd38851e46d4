-- Settles a worker's deliveries, then leases due jobs to it. The reply is stored until the worker's next call.
-- KEYS 1 shard    ARGV 1 worker, 2 sequence, 3 lease ms, 4 limit, 5 token, 6 fence floor,
--   7 to 9 slots, level and number of the suspects that run (shared/consume/suspects.lua), then settlements (shared/consume/settle.lua)
-- Replies nothing: stale, a higher sequence was first; or verdicts (a byte each), now, next due (-1 none, or the limit is 0), deliveries
-- Cost O((settlements + limit) log n). A repeat of the same sequence gets the same reply.
local s = shard_of(KEYS[1], ARGV, 'done')
local worker, sequence, limit, token = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[5]
local kept = redis.call('HGET', answers_key(s), worker)
local last = kept and struct.unpack('>I8', kept) or 0
if last > sequence then return false end -- guard: queue_sequence_stale
local lease_now = lease_clock(s)
if last == sequence then return repeat_answer(s, kept, lease_now, worker, limit > 0) end -- guard: queue_answer_kept
local seen = note_worker(s, worker, lease_now, kept and seen_in(kept))

local floor = tonumber(ARGV[6])
if floor > s.meta.floor then
  s.meta.floor = floor
  set(s, 'floor', ARGV[6])
end
local verdicts, claims = settle_all(s, 10), limit > 0

local lease, out = { token = token, span = tonumber(ARGV[3]), taken = {}, bytes = 0, room = room_of(s, 7) }, {}
lease.deadline, lease.fits = text(lease_now + lease.span), s.meta.record_max <= INLINE_MAX and s.meta.record_max * limit <= CLAIM_MAX
local stop = not claims
if s.meta.paused > s.now then stop = true end -- guard: queue_paused
for _, priority in ipairs(stop and {} or in_use(s)) do
  stop, limit = claim_from(s, priority, limit, lease, out)
  if stop or limit <= 0 then break end
end
local first
if claims then first = leave_markers(s) else announce(s) end
keep_answer(s, worker, sequence, token, verdicts, lease.taken, seen)
save(s)
return { verdicts, s.now, next_due(s, first), out }
