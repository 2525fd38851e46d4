-- Extends an open update window. Never creates one: an expired window is lost.
-- KEYS 1 entry
-- ARGV 1 token, 2 window ms
-- Replies ms left · 0 lost: roll back
-- Cost O(size of the entry). A repeat renews again.
local now = now_ms(KEYS[1])
local e = open_entry(KEYS[1], now)
for _, window in ipairs(e and e.windows or {}) do
  if window[1] == ARGV[1] then
    local added = math.max(0, now + ARGV[2] - window[2])
    window[2], window[3] = window[2] + added, window[3] + added
    e.ends_at = math.max(e.ends_at, window[3])
    save_entry(KEYS[1], e, now)
    return window[2] - now
  end
end
return 0
