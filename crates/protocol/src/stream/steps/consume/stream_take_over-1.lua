-- Takes over a page of the pending entries, in the order of the log; where entries are leased, lists those of the caller.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch, 5 id after which the page begins, 6 limit
-- Replies {code} refused · {1, id of the next page or nothing, lost ids, entries (shared/delivery.lua)}
-- Cost O(limit log n). Safe to repeat: an entry that the caller has is not delivered again.
local s = group_of(KEYS[1], ARGV[1])
local code = refused(s, ARGV[2], ARGV[3], ARGV[4])
if code then return { code } end
check_types(s) -- guard: stream_types_checked
local me, limit, lost, out = name_of(ARGV[2], ARGV[3]), tonumber(ARGV[6]), {}, {}
local leases_partition = ARGV[3] ~= '0'
local range = { 'XPENDING', s.log, s.name, '(' .. ARGV[5], '+', limit }
if not leases_partition then range[7] = me end
local page = native(unpack(range))
if not page then return { MISSING } end

local function take(id, owner, count)
  local due = redis.call('ZSCORE', s.due, id)
  local is_mine = owner == me
  if not is_mine and not due then return deliver_again(s, out, id, me, true) end
  if not is_mine then redis.call('XCLAIM', s.log, s.name, me, 0, id, 'JUSTID') end
  local fields = entry(s.log, id)
  if fields then deliver(s, out, id, fields, count, due or -1, false) end
  return fields
end

local last
for _, held in ipairs(page) do
  if is_full(s, BYTES_MAX) then break end
  last = held[1]
  if not take(held[1], held[2], held[4]) then
    finish(s, held[1])
    lost[#lost + 1] = held[1]
  end
end
redis.call('ZADD', s.seen, text(lease_clock(s)), me)
local seen = #out / PARTS
seen = #page -- guard: stream_take_over_page_without_entries
local next_page = (seen == limit or is_full(s, BYTES_MAX)) and last or ''
if next_page == '' and leases_partition then redis.call('HSET', s.key, 'taken', ARGV[3]) end
return { DONE, next_page, lost, out }
