-- The range of numbers that a server hands out. It is bound to the server and its history: another one may have handed out more of it.

-- The incarnation of this server. A primary that was demoted and promoted again has its run id, and what another one had.
local function tag_of_this_server()
  local tag = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  tag = tag .. ':' .. string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') -- guard: id_range_history
  return tag
end

-- The first number and the one after the last of what this server may hand out; `nil` if there is nothing.
local function range_of(key)
  local range = redis.call('HMGET', key, 'next', 'end', 'tag')
  if not range[1] then return nil end
  local first, last = tonumber(range[1]), tonumber(range[2] or '')
  if not first or not last then error('another program has changed ' .. key) end
  if first >= last then return nil end
  if range[3] ~= tag_of_this_server() then return nil end -- guard: id_range_tag
  return first, last
end
