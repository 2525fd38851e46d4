-- The state of a group.
-- KEYS 1 partition    ARGV 1 group
-- Replies {0} missing · {1, now, epoch, mode, length, tail, position, first unread or '', pending, oldest pending or '', delayed, dead,
--   parked keys, owner or '', fence, lease left, paused until or 0, number of unread or '', ms since the last call of a consumer or -1}
-- Cost O(groups). Writes nothing.
if not g.epoch then return { MISSING } end
local position, lag
local infos = call('EXISTS', LOG) == 1 and call('XINFO', 'GROUPS', LOG) or {}
for _, info in ipairs(infos) do
  if value(info, 'name') == group then position, lag = value(info, 'last-delivered-id'), value(info, 'lag') end
end
if not position then return { MISSING } end
local unread = call('XRANGE', LOG, '(' .. position, '+', 'COUNT', 1)[1]
local pending, oldest = unpack(call('XPENDING', LOG, group))
local lease_now = NOW + tonumber(g.back or 0) + math.max(tonumber(g.seen or NOW) - NOW, 0)
local left = g.owner and math.max(tonumber(g.ends) - lease_now, 0) or 0
local function last(index) return tonumber(call('ZRANGE', index, -1, -1, 'WITHSCORES')[2]) end
local seen, ends = last(SEEN), last(LEASED)
local silent = seen and math.max(lease_now - seen, 0) or -1
if ends and ends > lease_now then silent = 0 end
return {
  DONE, NOW, tonumber(g.epoch), tonumber(g.mode), call('XLEN', LOG), tail(), position, unread and unread[1] or '', pending,
  oldest or '', call('ZCARD', DUE), call('XLEN', DEAD), call('HLEN', PARKED), g.owner or '', tonumber(g.fence or 0), left,
  is_paused() and tonumber(g.paused) or 0, lag or '', silent,
}
