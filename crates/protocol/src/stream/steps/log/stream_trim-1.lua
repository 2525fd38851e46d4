-- Removes entries that every group has settled and that are old enough.
-- KEYS 1 partition    ARGV 1 ms for which entries are kept, 2 limit, then the registered groups
-- Replies {0} there is no such partition · {1, number, 1 if there are more} · {2, name} this registered group is missing
-- Cost O(groups + limit). Safe to repeat.
local s = log_of(KEYS[1])
if redis.call('EXISTS', s.log) == 0 then return { 0 } end
local infos, known = redis.call('XINFO', 'GROUPS', s.log), {}
for _, info in ipairs(infos) do known[value(info, 'name')] = true end
for at = 3, #ARGV do
  if not known[ARGV[at]] then return { 2, ARGV[at] } end -- guard: stream_trim_group_missing
end

local function parts(id)
  local ms, number = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end

-- Entries below this id are removed.
local ms, number = s.now, 0
ms = math.max(s.now - tonumber(ARGV[1]), 0) -- guard: stream_trim_keeps_young
local function lower(to_ms, to_number)
  if to_ms < ms or (to_ms == ms and to_number < number) then ms, number = to_ms, to_number end
end
for _, info in ipairs(infos) do
  local read_ms, read_number = parts(value(info, 'last-delivered-id'))
  lower(read_ms, read_number + 1) -- guard: stream_trim_unread
  local oldest = redis.call('XPENDING', s.log, value(info, 'name'))[2]
  if oldest then lower(parts(oldest)) end -- guard: stream_trim_pending
end
-- Redis rejects a range that ends before the lowest id.
if ms == 0 and number == 0 then return { 1, 0, 0 } end
-- Whole nodes of the log are removed unread; only the entries of a node that stays in part are read.
local limit, below = tonumber(ARGV[2]), text(ms) .. '-' .. text(number)
local removed = redis.call('XTRIM', s.log, 'MINID', '~', below, 'LIMIT', limit)
local left = limit - removed
local page = redis.call('XRANGE', s.log, '-', '(' .. below, 'COUNT', left + 1)
local more = #page > left and 1 or 0
if more == 1 then below = page[left + 1][1] end
if #page > more then redis.call('XTRIM', s.log, 'MINID', '=', below) end
return { 1, removed + #page - more, more }
