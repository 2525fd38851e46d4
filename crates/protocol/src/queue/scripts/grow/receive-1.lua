-- Adds the items that another shard has sent, each once and in order.
-- KEYS 1 shard    ARGV 1 number of the other shard, then for each: sequence, label, record (leaving-1.lua)
-- Replies the last sequence number that was added
-- Cost O(log n) each. A repeat, however late, adds nothing twice.
check_types(WAKE, nil, tag .. ':schedules') -- guard: queue_types_checked
local field, before = 'took:' .. ARGV[1], earliest()
local last = tonumber(call('HGET', META, field) or 0)

local function receive_item(kind, id, place, score, raw)
  if kind == 2 then return call('HSETNX', tag .. ':schedules', id, string.format('%.0f', score)) end
  local known, ended = open(head_of(id))
  if known or ended or raw == '' then return end -- a record that this shard already has takes precedence
  local j, _, _, until_ms = open(raw)
  if j then
    call('SET', JOB .. id, raw)
    call('ZADD', place == 5 and DEAD or DUE[place], score, id)
    add('bytes', #raw)
    note_size(#raw)
  elseif until_ms == 0 then
    call('SET', JOB .. id, raw)
  elseif until_ms then
    call('SET', JOB .. id, raw, 'PX', until_ms - NOW)
  end
end

for at = 2, #ARGV, 3 do
  local sequence, fresh = tonumber(ARGV[at]), true
  if sequence > last + 1 then break end
  fresh = sequence > last -- guard: queue_receive_once
  if fresh then
    local kind, id, place, score = struct.unpack('>Bc16BI6', ARGV[at + 1])
    receive_item(kind, id, place, score, ARGV[at + 2])
    last = math.max(last, sequence)
  end
end
call('HSET', META, field, last)
leave_markers(before)
save_totals()
return last
