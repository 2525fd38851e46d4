-- Returns a lease after a failed load; no other lease is granted for a while.
-- KEYS 1 entry
-- ARGV 1 token, 2 delay before the next lease, ms
-- Replies 1 returned · 0 the lease is not this token's (taken over, used, ended, or this call is a repeat)
-- Cost O(size of the entry). Safe to repeat: the token is gone after the first call.
local now = now_ms(KEYS[1])
local e = open_entry(KEYS[1], now)
if not e or not e.lease or e.lease[1] == NO_OWNER then return 0 end
if e.lease[1] ~= ARGV[1] then return 0 end -- guard: abandon_token
e.lease = { NO_OWNER, now, now + ARGV[2] }
save_entry(KEYS[1], e, now)
return 1
