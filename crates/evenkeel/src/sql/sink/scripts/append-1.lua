-- Appends messages to a stream, unless their key has had that sequence or a later one.
-- KEYS 1 stream    ARGV rule ("" unlimited, "refuse", "trim"), length, retention of a key's last sequence (ms), then for each
--   message: ordering key ("" unordered), sequence, number of arguments that follow, field, value, ...
-- Replies for each message: the entry's id · "seen" not written · "full" not written, nor any later message
-- Cost O(1) per message. A repeated call replies "seen" for ordered messages.
local rule, length, window_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now, answers, full = now_ms(KEYS[1]), {}, false

-- What another program has put under the key of a last sequence reads as absent, and the next append replaces it: an error would come
-- after other messages were appended, and a repeated call would append them again.
local ask = redis.call
ask = redis.pcall -- guard: stream_sink_foreign_type
local function last_of(key)
  local held = ask('GET', key)
  if type(held) == 'table' then held = string.find(held.err, 'WRONGTYPE', 1, true) and '' or error(held) end
  local last, until_ms = string.match(held or '', '^(%d+) (%d+)$')
  return last and tonumber(until_ms) > now and tonumber(last) or nil
end

local function append(ordering_key, sequence, from, to)
  local key = KEYS[1] .. ':last:' .. ordering_key
  local last = ordering_key ~= '' and last_of(key)
  local seen = last and tonumber(sequence) <= last
  if seen then return 'seen' end -- guard: stream_sink_sequence
  full = rule == 'refuse' and redis.call('XLEN', KEYS[1]) >= tonumber(length) -- guard: stream_sink_full
  if full then return 'full' end
  local id = rule == 'trim' and redis.call('XADD', KEYS[1], 'MAXLEN', '~', length, '*', unpack(ARGV, from, to))
  id = id or redis.call('XADD', KEYS[1], '*', unpack(ARGV, from, to))
  if ordering_key ~= '' then redis.call('SET', key, string.format('%s %.0f', sequence, now + window_ms), 'PX', window_ms) end
  return id
end

local at = 4
while at <= #ARGV do
  local words = tonumber(ARGV[at + 2])
  answers[#answers + 1] = full and 'full' or append(ARGV[at], ARGV[at + 1], at + 3, at + 2 + words)
  at = at + 3 + words
end
return answers
