-- Stores a worker's last reply, so that the worker can request it again.
-- Cost O(deliveries).
local SEEN_MS = 5000

local function answers_key(s)
  return s.tag .. ':answers'
end

-- Notes the time of a worker's call, unless that of a call less than SEEN_MS ago is noted; returns the noted time.
local function note_worker(s, worker, lease_now, seen)
  if seen and seen <= lease_now and lease_now - seen < SEEN_MS then return seen end
  redis.call('ZADD', s.workers, text(lease_now), worker)
  return lease_now
end

-- The noted time in an answer; none in one of an older version.
local function seen_in(answer)
  local verdicts = struct.unpack('>H', answer, 25)
  return (#answer - 26 - verdicts) % 16 == 6 and struct.unpack('>I6', answer, #answer - 5)
end

-- sequence (8), token (16), number of verdicts (2), verdicts, ids (16 each), noted time of a call (6)
local function keep_answer(s, worker, sequence, token, verdicts, ids, seen)
  local answer = struct.pack('>I8c16H', sequence, token, #verdicts) .. verdicts .. table.concat(ids) .. struct.pack('>I6', seen)
  redis.call('HSET', answers_key(s), worker, answer)
end

-- The same verdicts, and the deliveries that are still held.
local function repeat_answer(s, answer, lease_now, worker, claims)
  note_worker(s, worker, lease_now)
  local _, token, count, at = struct.unpack('>I8c16H', answer)
  local out = {}
  for from = at + count, #answer - 15, 16 do
    local id = string.sub(answer, from, from + 15)
    local raw, size = looked_up(s.job .. id)
    local j = open(s, raw)
    if j and j.token == token then
      local left = math.max((tonumber(redis.call('ZSCORE', s.leased, id)) or 0) - lease_now, 0)
      for _, part in ipairs({ id, j.fence, 0, left, travels(raw, size) }) do out[#out + 1] = part end
    end
  end
  save(s)
  return { string.sub(answer, at, at + count - 1), s.now, next_due(s, claims and earliest_due(s)), out }
end
