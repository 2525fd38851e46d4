-- Enqueues jobs, each unless its id or unique key exists or the shard is full.
-- KEYS 1 shard    ARGV for each job: id, when ("+delay" or a time), record
-- Replies for each job: 1 created · 2 duplicate · 3 unique key exists, owner's id · 4 dead · 5 ended, how · 6 full · 7 of another shard
-- Cost O(log n) a job. A repeat finds what the first call created.
local s, answers = shard_of(KEYS[1], ARGV, 'created'), {}
local working = count_working(s)

local function answer_in_use(id, stored)
  local held, how = open(s, stored)
  local index = held and where(s, id, held)
  if index == s.dead then return '\4' end -- guard: queue_enqueue_dead
  if index then return '\2' end -- guard: queue_enqueue_id
  if how then return '\5' .. string.char(how) end -- guard: queue_enqueue_completion
end

local function refusal(id, size, j)
  if elsewhere(s, id) or (j.unique and s.meta.shards > 1) then return '\7' end -- guard: queue_grown_refuses
  local owner = j.unique and bytes_of(s.tag .. ':unique:' .. j.unique, UNIQUE_LAST) or ''
  local counts = #owner == 22 and struct.unpack('>I6', owner) > s.now
  if counts then return '\3' .. string.sub(owner, 7) end -- guard: queue_enqueue_unique
  if working + (s.totals.created or 0) >= s.meta.jobs_max then return '\6' end -- guard: queue_jobs_max
  if above_limit(s, size) then return '\6' end
end

for at = 1, #ARGV, 3 do
  local id, due, j = ARGV[at], requested(s, ARGV[at + 1]), open(s, ARGV[at + 2])
  local record = record_of(s, due, ARGV[at + 2], j)
  local refused = refusal(id, #record, j)
  local stored = refused and head_of(s, id) or store_new(s, id, record)
  local answer = stored ~= '' and answer_in_use(id, stored) or refused
  if not answer then
    if stored ~= '' then redis.call('SET', s.job .. id, record) end
    accept(s, id, due, record, j)
    if j.unique then redis.call('SET', s.tag .. ':unique:' .. j.unique, struct.pack('>I6c16', s.now + j.unique_ms, id), 'PX', j.unique_ms) end
  end
  answers[#answers + 1] = answer or '\1'
end
announce(s)
save(s)
return answers
