-- The bucket of a rate: its debt, in units, at a time. docs/spec/limit.md has the table of offsets.
local RATE, RATE_BYTES, DEBT_MAX = '>I6I7I5', 18, 4503599627370496

-- The bucket at `now`. One from the future was written before the clock was set back: it has the same debt now.
local function rate_of(now, raw, refill, token, burst)
  local level = { is_rate = true, refill = refill, token = token, burst = burst, debt = 0 }
  if type(raw) ~= 'string' or #raw ~= RATE_BYTES then return level end
  local at, debt, was = struct.unpack(RATE, raw)
  if was < 1 then return level end
  if was ~= token then
    -- In whole tokens of the other quota, rounded up.
    debt = math.min(math.ceil(debt / was), math.floor(DEBT_MAX / token)) * token -- guard: limit_quota_changed
  end
  level.is_set_back = at > now
  local passed = now - at
  if passed < 0 then passed = 0 end -- guard: limit_set_back
  level.debt = math.max(0, debt - passed * refill)
  return level
end

-- In how many milliseconds there are so many tokens.
local function rate_wait(level, tokens)
  return math.max(0, math.ceil((level.debt + tokens * level.token - level.burst) / level.refill))
end

-- Takes tokens in so many milliseconds; returns how many are left then.
local function rate_debit(level, tokens, wait)
  local refilled = wait * level.refill
  -- What is refilled until then is not available afterwards: the tokens are taken at that time, not now.
  level.debt = math.max(level.debt, refilled) -- guard: limit_debit_at_its_time
  level.debt = level.debt + tokens * level.token
  return math.floor(math.max(0, level.burst - math.max(0, level.debt - refilled)) / level.token)
end
