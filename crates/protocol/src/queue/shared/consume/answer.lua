-- Stores a worker's last reply, so that the worker can request it again.
-- Cost O(deliveries).

local function answers_key(s)
  return s.tag .. ':answers'
end

-- sequence (8), token (16), number of verdicts (2), verdicts, ids (16 each)
local function keep_answer(s, worker, sequence, token, verdicts, ids)
  local answer = struct.pack('>I8c16H', sequence, token, #verdicts) .. verdicts .. table.concat(ids)
  redis.call('HSET', answers_key(s), worker, answer)
end

-- The same verdicts, and the deliveries that are still held.
local function repeat_answer(s, answer, lease_now)
  local _, token, count, at = struct.unpack('>I8c16H', answer)
  local out = {}
  for from = at + count, #answer, 16 do
    local id = string.sub(answer, from, from + 15)
    local raw, size = looked_up(s.job .. id)
    local j = open(s, raw)
    if j and j.token == token then
      local left = math.max((tonumber(redis.call('ZSCORE', s.leased, id)) or 0) - lease_now, 0)
      for _, part in ipairs({ id, j.fence, 0, left, travels(raw, size) }) do out[#out + 1] = part end
    end
  end
  save(s)
  return { string.sub(answer, at, at + count - 1), s.now, next_due(s, earliest_due(s)), out }
end
