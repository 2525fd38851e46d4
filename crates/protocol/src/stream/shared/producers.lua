-- The last sequence of each producer, with the id of its entry.
-- Cost O(log producers).
local LAST, ACTIVE = tag .. ':producers', tag .. ':active'
-- Those that this call has numbered.
local numbered = {}

local function check_producers()
  call('HLEN', LAST)
  call('ZCARD', ACTIVE)
end

-- The last sequence of a producer and the id of its entry; nothing if none is stored.
local function last_of(producer)
  local stored = numbered[producer] or call('HGET', LAST, producer)
  if stored then return struct.unpack('>I8', stored), string.sub(stored, 9) end
end

local function number(producer, sequence, id)
  numbered[producer] = struct.pack('>I8', sequence) .. id
end

-- Stores what this call has numbered, and forgets some of the producers that are silent for longer than `window`.
local function store(window, limit)
  for producer, stored in pairs(numbered) do
    call('HSET', LAST, producer, stored)
    call('ZADD', ACTIVE, text(NOW), producer)
  end
  local old = call('ZRANGEBYSCORE', ACTIVE, '-inf', '(' .. text(NOW - window), 'LIMIT', 0, limit)
  if #old == 0 then return end
  call('ZREM', ACTIVE, unpack(old))
  call('HDEL', LAST, unpack(old))
end
