-- Opens an update window: invalidates, and no load is granted before the window ends or expires.
-- KEYS 1 entry
-- ARGV 1 token, 2 new generation, 3 floor (8 bytes or empty), 4 retain ms (empty: purge), 5 replicas' lag ms (0: none),
--      6 window ms, 7 suspect ms, 8 schema if created
-- Replies 1 open: ms left · 2 busy: ms until the first of the other windows expires
-- Cost O(size of the entry). A repeat with the same token finds its window and changes nothing.
local now, token, lag = now_ms(KEYS[1]), ARGV[1], tonumber(ARGV[5])
local e = open_entry(KEYS[1], now) or create_entry(now, ARGV[2], tonumber(ARGV[8]), now)
local first
for _, window in ipairs(e.windows) do
  if window[1] == token then return { 1, window[2] - now } end -- guard: begin_repeat
  first = math.min(first or window[2], window[2])
end
if #e.windows >= 4 then return { 2, first - now } end -- guard: window_busy
invalidate_entry(e, now, ARGV[2], ARGV[3], tonumber(ARGV[4]), lag)
local window = { token, now + ARGV[6], now + ARGV[6] + ARGV[7] }
e.windows[#e.windows + 1] = window
e.ends_at = math.max(e.ends_at, window[3])
save_entry(KEYS[1], e, now)
return { 1, window[2] - now }
