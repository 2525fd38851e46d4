-- Records how deliveries ended, if they are current.
-- KEYS 1 partition    ARGV 1 group, 2 consumer, 3 fence, 4 epoch, then for each: id, delivery count, kind, unless done also delay ms, text
--   kinds: 0 done · 1 retry · 2 snooze · 3 dead · 4 dead, and parks its key
-- Replies {code} refused · {1, verdicts: 1 settled · 2 already settled · 3 stale, a byte each}
-- Cost O(log n) an item, and few commands if they are in the order of their ids. A repeat finds the outcomes recorded.
local s = group_of(KEYS[1], ARGV[1])
local code, me, verdicts, done = refused(s, ARGV[2], ARGV[3], ARGV[4]), name_of(ARGV[2], ARGV[3]), {}, {}
if code then return { code } end
check_failed(s) -- guard: stream_types_checked

-- A call for few items asks for each alone. Others may hold entries between the ids, but hardly more than twice as many as were handled.
if #ARGV > 16 then look_up(s, ARGV[5], '+', #ARGV - 4, me) end

local at = 5
while at < #ARGV do
  local id, count, kind, delay, words = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2], '0', ''
  at = at + 3
  if kind ~= '0' then
    delay, words = ARGV[at], ARGV[at + 1]
    at = at + 2
  end
  local state = settle(s, done, me, id, count, kind, delay, words)
  if not state then return { MISSING } end
  verdicts[#verdicts + 1] = string.char(state)
end
if #done > 0 then finish(s, unpack(done)) end
return { DONE, table.concat(verdicts) }
