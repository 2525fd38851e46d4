-- Creates a partition, and those of the groups that it does not have.
-- KEYS 1 partition    ARGV 1 the highest id that is known to have been in the log, then for each group: name, position (an id or $), mode
-- Replies for each group 1 created · 2 existed · 3 refused: the other mode, or created by another program
-- Cost O(1) a group. Safe to repeat.
local replies = {}
local function check()
  for at = 2, #ARGV, 3 do call('HLEN', tag .. ':g:' .. ARGV[at]) end
end
check() -- guard: stream_types_checked
if call('EXISTS', LOG) == 0 then
  call('XGROUP', 'CREATE', LOG, 'new', '$', 'MKSTREAM')
  call('XGROUP', 'DESTROY', LOG, 'new')
end
local ms, number = string.match(ARGV[1], '^(%d+)-(%d+)$')
local last_ms, last_number = string.match(value(call('XINFO', 'STREAM', LOG), 'last-generated-id'), '^(%d+)-(%d+)$')
local behind = tonumber(last_ms) < tonumber(ms) or (last_ms == ms and tonumber(last_number) < tonumber(number))
if behind then call('XSETID', LOG, ARGV[1]) end -- guard: stream_open_last

for at = 2, #ARGV, 3 do
  local name, G = ARGV[at], tag .. ':g:' .. ARGV[at]
  local epoch, mode = unpack(call('HMGET', G, 'epoch', 'mode'))
  local code = 3
  if not epoch or mode == ARGV[at + 2] then
    local made = redis.pcall('XGROUP', 'CREATE', LOG, name, ARGV[at + 1])
    if made.ok then
      code = 1
      call('DEL', G .. ':due', G .. ':leased', G .. ':tries', G .. ':seen')
      call('HDEL', G, 'owner', 'ends', 'taken')
      local raised = NOW
      raised = math.max(raised, (tonumber(epoch) or 0) + 1) -- guard: stream_epoch_rises
      call('HSET', G, 'epoch', text(raised), 'mode', ARGV[at + 2])
    elseif epoch then
      code = 2
    end
  end
  replies[#replies + 1] = code
end
return replies
