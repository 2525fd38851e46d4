-- Delivers entries: those that are due again, then new ones, until the reply is full.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch, 5 limit, 6 lease ms of an entry
-- Replies {code} refused · {1, paused, ms until something is due (-1: nothing), last id of the log, lost ids, entries (shared/delivery.lua)}
-- Cost O(limit log n). After a lost reply the entries are leased to the caller: `stream_take_over` returns them.
local s = group_of(KEYS[1], ARGV[1])
local code = refused(s, ARGV[2], ARGV[3], ARGV[4])
if code then return { code } end
check_failed(s) -- guard: stream_types_checked
local me, limit, leases_partition = name_of(ARGV[2], ARGV[3]), tonumber(ARGV[5]), ARGV[3] ~= '0'
if leases_partition and s.group.taken ~= ARGV[3] then return { TAKE_OVER_FIRST } end -- guard: stream_take_over_first
local lease_now, lost, out, missing = lease_clock(s), {}, {}, false
redis.call('ZADD', s.seen, text(lease_now), me)
if is_paused(s) then return { DONE, 1, pause_left(s), tail(s), lost, out } end -- guard: stream_paused

local function redeliver(index, now, limit, lease_expired, bytes_max)
  if limit <= 0 or missing then return end
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', text(now), 'LIMIT', 0, limit)) do
    if is_full(s, bytes_max) then return end
    local again = deliver_again(s, out, id, me, lease_expired)
    if again == nil then missing = true end
    if again == false then lost[#lost + 1] = id end
    if again and not leases_partition then redis.call('ZADD', s.leased, text(lease_now + tonumber(ARGV[6])), id) end
  end
end

local function redeliver_all(limit, bytes_max)
  local start = #out
  if s.group.has_failed then redeliver(s.due, s.now, limit, false, bytes_max) end
  redeliver(s.leased, lease_now, limit - (#out - start) / PARTS, true, bytes_max)
end

local share = limit
share = math.ceil(limit / 2) -- guard: stream_redelivery_share
redeliver_all(share, BYTES_MAX / 2)
if missing or not read_new(s, out, me, limit - #out / PARTS, lease_now + tonumber(ARGV[6])) then return { MISSING } end
redeliver_all(limit - #out / PARTS, BYTES_MAX)
return { DONE, 0, next_in(s, lease_now), tail(s), lost, out }
