-- The state of a group.
-- KEYS 1 partition    ARGV 1 group
-- Replies {0} missing · {1, now, epoch, mode, length, tail, position, first unread or '', pending, oldest pending or '', delayed, dead,
--   parked keys, owner or '', fence, lease left, paused until or 0, number of unread or '', ms since the last call of a consumer or -1}
-- Cost O(groups). Writes nothing.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch then return { MISSING } end
local position, lag
local infos = redis.call('EXISTS', s.log) == 1 and redis.call('XINFO', 'GROUPS', s.log) or {}
for _, info in ipairs(infos) do
  if value(info, 'name') == s.name then position, lag = value(info, 'last-delivered-id'), value(info, 'lag') end
end
if not position then return { MISSING } end
local unread = redis.call('XRANGE', s.log, '(' .. position, '+', 'COUNT', 1)[1]
local pending, oldest = unpack(redis.call('XPENDING', s.log, s.name))
local lease_now = s.now + tonumber(s.group.back or 0) + math.max(tonumber(s.group.seen or s.now) - s.now, 0)
local left = s.group.owner and math.max(tonumber(s.group.ends) - lease_now, 0) or 0
local function last(index) return tonumber(redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')[2]) end
local seen, ends = last(s.seen), last(s.leased)
local silent = seen and math.max(lease_now - seen, 0) or -1
if ends and ends > lease_now then silent = 0 end
return {
  DONE, s.now, tonumber(s.group.epoch), tonumber(s.group.mode), redis.call('XLEN', s.log), tail(s), position, unread and unread[1] or '', pending,
  oldest or '', redis.call('ZCARD', s.due), redis.call('XLEN', s.dead), redis.call('HLEN', s.parked), s.group.owner or '', tonumber(s.group.fence or 0), left,
  is_paused(s) and tonumber(s.group.paused) or 0, lag or '', silent,
}
