-- Enqueues jobs, each unless its id or unique key exists or the shard is full.
-- KEYS 1 shard    ARGV for each job: id, when ("+delay" or a time), record
-- Replies for each job: 1 created · 2 duplicate · 3 unique key exists, owner's id · 4 dead · 5 ended, how · 6 full · 7 of another shard
-- Cost O(log n) a job. A repeat finds what the first call created.
check_types(WAKE) -- guard: queue_types_checked
local working, before, answers = 0, earliest(), {}
if meta.jobs_max < FOREVER then
  working = call('ZCARD', LEASED)
  for priority = 0, 3 do working = working + call('ZCARD', DUE[priority]) end
end
local first = before

local function refusal(id, raw, j)
  local held, how = open(head_of(id))
  local index = held and where(id, held)
  if index == DEAD then return '\4' end -- guard: queue_enqueue_dead
  if index then return '\2' end -- guard: queue_enqueue_id
  if how then return '\5' .. string.char(how) end -- guard: queue_enqueue_completion
  if elsewhere(id) or (j.unique and meta.shards > 1) then return '\7' end -- guard: queue_grown_refuses
  local owner = j.unique and bytes_of(tag .. ':unique:' .. j.unique, UNIQUE_LAST) or ''
  local counts = #owner == 22 and struct.unpack('>I6', owner) > NOW
  if counts then return '\3' .. string.sub(owner, 7) end -- guard: queue_enqueue_unique
  if working + (totals.created or 0) >= meta.jobs_max then return '\6' end -- guard: queue_jobs_max
  if above_limit(#raw) then return '\6' end
end

for at = 1, #ARGV, 3 do
  local id, when, raw, j = ARGV[at], ARGV[at + 1], ARGV[at + 2], open(ARGV[at + 2])
  local answer = refusal(id, raw, j)
  if not answer then
    local due = requested(when)
    accept(id, due, raw, j)
    if not first or due < first then first = due end
    if j.unique then call('SET', tag .. ':unique:' .. j.unique, struct.pack('>I6c16', NOW + j.unique_ms, id), 'PX', j.unique_ms) end
  end
  answers[#answers + 1] = answer or '\1'
end
if totals.created then leave_markers(before, first) end
save_totals()
return answers
