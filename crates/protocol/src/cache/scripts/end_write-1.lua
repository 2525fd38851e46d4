-- Closes the caller's own update window and invalidates whether or not it was still open.
-- KEYS 1 entry
-- ARGV 1 token, 2 new generation, 3 floor (8 bytes or empty), 4 retain ms (empty: purge), 5 replicas' lag ms (0: none)
-- Replies 1 closed · 0 it had expired, its entry was gone, or this call is a repeat
-- Cost O(size of the entry). A repeat finds no window, replies 0 and invalidates again.
local now = now_ms(KEYS[1])
local e, why = open_entry(KEYS[1], now)
if not e then
  if why ~= 'nothing' then redis.call('DEL', KEYS[1]) end
  return 0
end
local others, closed = {}, 0
for _, window in ipairs(e.windows) do
  local own = true
  own = window[1] == ARGV[1] -- guard: end_own_window
  if own then closed = 1 else others[#others + 1] = window end
end
e.windows = others
invalidate_entry(e, now, ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]))
save_entry(KEYS[1], e, now)
return closed
