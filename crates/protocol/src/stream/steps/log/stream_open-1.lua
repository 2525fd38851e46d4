-- Creates a partition, and those of the groups that it does not have.
-- KEYS 1 partition    ARGV 1 the highest id that is known to have been in the log, then for each group: name, position (an id or $), mode
-- Replies for each group 1 created · 2 existed · 3 refused: the other mode, or created by another program
-- Cost O(1) a group. Safe to repeat.
local s = log_of(KEYS[1])
local replies = {}
local function check()
  for at = 2, #ARGV, 3 do redis.call('HLEN', s.tag .. ':g:' .. ARGV[at]) end
end
check() -- guard: stream_types_checked
if redis.call('EXISTS', s.log) == 0 then
  redis.call('XGROUP', 'CREATE', s.log, 'new', '$', 'MKSTREAM')
  redis.call('XGROUP', 'DESTROY', s.log, 'new')
end
local ms, number = string.match(ARGV[1], '^(%d+)-(%d+)$')
local last_ms, last_number = string.match(value(redis.call('XINFO', 'STREAM', s.log), 'last-generated-id'), '^(%d+)-(%d+)$')
local behind = tonumber(last_ms) < tonumber(ms) or (last_ms == ms and tonumber(last_number) < tonumber(number))
if behind then redis.call('XSETID', s.log, ARGV[1]) end -- guard: stream_open_last

for at = 2, #ARGV, 3 do
  local name, G = ARGV[at], s.tag .. ':g:' .. ARGV[at]
  local epoch, mode = unpack(redis.call('HMGET', G, 'epoch', 'mode'))
  local code = 3
  if not epoch or mode == ARGV[at + 2] then
    local made = redis.pcall('XGROUP', 'CREATE', s.log, name, ARGV[at + 1])
    if made.ok then
      code = 1
      redis.call('DEL', G .. ':due', G .. ':leased', G .. ':tries', G .. ':seen')
      redis.call('HDEL', G, 'owner', 'ends', 'taken')
      local raised = s.now
      raised = math.max(raised, (tonumber(epoch) or 0) + 1) -- guard: stream_epoch_rises
      redis.call('HSET', G, 'epoch', text(raised), 'mode', ARGV[at + 2])
    elseif epoch then
      code = 2
    end
  end
  replies[#replies + 1] = code
end
return replies
