-- The last sequence of each producer, with the id of its entry.
-- Cost O(log producers).

-- `numbered`: the sequences that this call has stored.
local function producers_of(tag)
  local s = log_of(tag)
  s.last, s.active, s.numbered = tag .. ':producers', tag .. ':active', {}
  return s
end

local function check_producers(s)
  redis.call('HLEN', s.last)
  redis.call('ZCARD', s.active)
end

-- The last sequence of a producer and the id of its entry; nothing if none is stored.
local function last_of(s, producer)
  local stored = s.numbered[producer] or redis.call('HGET', s.last, producer)
  if stored then return struct.unpack('>I8', stored), string.sub(stored, 9) end
end

local function number(s, producer, sequence, id)
  s.numbered[producer] = struct.pack('>I8', sequence) .. id
end

-- Forgets some of the producers that are silent for longer than `window`.
local function forget_producers(s, window, limit)
  local old = redis.call('ZRANGEBYSCORE', s.active, '-inf', '(' .. text(s.now - window), 'LIMIT', 0, limit)
  if #old == 0 then return end
  redis.call('HDEL', s.last, unpack(old))
  redis.call('ZREM', s.active, unpack(old))
end

-- Stores what this call has numbered.
local function store(s)
  for producer, stored in pairs(s.numbered) do
    redis.call('HSET', s.last, producer, stored)
    redis.call('ZADD', s.active, text(s.now), producer)
  end
end
