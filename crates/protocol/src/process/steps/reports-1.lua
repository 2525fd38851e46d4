-- Lists the processes that reported last, the latest first, with their reports.
-- KEYS 1 times    ARGV 1 most processes, 2 most bytes of a report, 3 most bytes of a name, 4 ms for which a time counts,
-- 5 ms for which a report counts
-- Replies now, number of processes (-1: another program's value is under the key), then for each its name, its time, and its report:
-- nothing if it has expired, 0 if it is another program's value. A name that is too long is replied as ''
-- Cost O(log n + processes). Writes nothing.
local now = now_ms(KEYS[1])
local from, to = string.format('%.0f', now - ARGV[4]), string.format('%.0f', now)
local known = redis.pcall('ZCOUNT', KEYS[1], from, to)
if type(known) == 'table' then return { now, -1 } end -- guard: process_times_foreign
local reply = { now, known }
local found = redis.call('ZRANGE', KEYS[1], to, from, 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
local function report_of(name, seen)
  if now - seen >= tonumber(ARGV[5]) then return false end
  local key = KEYS[1] .. ':' .. name
  local bytes = redis.pcall('STRLEN', key)
  if type(bytes) == 'table' or bytes > tonumber(ARGV[2]) then return 0 end -- guard: process_report_foreign
  return redis.call('GET', key)
end

for at = 1, #found, 2 do
  local name = found[at]
  local is_long = #name > tonumber(ARGV[3])
  reply[#reply + 1] = is_long and '' or name
  reply[#reply + 1] = found[at + 1]
  reply[#reply + 1] = not is_long and report_of(name, tonumber(found[at + 1]))
end
return reply
