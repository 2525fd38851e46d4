-- Appends messages to a stream, each unless its key has had that sequence or a later one.
-- KEYS 1 stream    ARGV rule ("" unlimited, "refuse", "trim"), length, how long a last sequence is kept (ms), then for each
--   message: what it is ordered by ("" unordered), sequence, number of words that follow, field, value, ...
-- Replies for each: the entry's id · "seen" nothing written · "full" nothing written, nor anything behind it
-- Cost O(1) a message. A repeat finds what was ordered seen.
local rule, length, remember = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now = now_ms()
local answers = {}
local full = false

local function append(lane, sequence, from, to)
  local key = KEYS[1] .. ':last:' .. lane
  local held = lane ~= '' and redis.call('GET', key)
  if held then
    local last, until_ms = string.match(held, '^(%d+) (%d+)$')
    local seen = tonumber(sequence) <= tonumber(last) and tonumber(until_ms) > now
    if seen then return 'seen' end -- guard: stream_sink_sequence
  end
  full = rule == 'refuse' and redis.call('XLEN', KEYS[1]) >= tonumber(length) -- guard: stream_sink_full
  if full then return 'full' end
  local id
  if rule == 'trim' then
    id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', length, '*', unpack(ARGV, from, to))
  else
    id = redis.call('XADD', KEYS[1], '*', unpack(ARGV, from, to))
  end
  if lane ~= '' then redis.call('SET', key, string.format('%s %.0f', sequence, now + remember), 'PX', remember) end
  return id
end

local at = 4
while at <= #ARGV do
  local words = tonumber(ARGV[at + 2])
  answers[#answers + 1] = full and 'full' or append(ARGV[at], ARGV[at + 1], at + 3, at + 2 + words)
  at = at + 3 + words
end
return answers
