-- Requests the right to load; creates the entry if there is none.
-- KEYS 1 entry
-- ARGV 1 token, 2 generation if created, 3 lease ms, 4 life ms, 5 why: miss, stale, refresh, or 8 bytes: below that version,
--      6 schema, 7 replicas' lag ms (0: none)
-- Replies 1 granted: generation, ordinal, time, primary required · 2 already stored: the entry · 3 wait, 4 failing, 5 writing: ms ·
--      6 other schema
-- Cost O(size of the entry). A repeat with the same token gets the same grant.
local now, token, generation, why, schema, lag = now_ms(KEYS[1]), ARGV[1], ARGV[2], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local lease_until, life_until = now + ARGV[3], now + ARGV[4]
local function grant(e, at) return { 1, e.generation, e.granted, at, may_lack_writes(e, lag, at) and 1 or 0 } end
local e, stored = open_entry(KEYS[1], now)
if stored == 'newer' then return { 6 } end -- guard: lease_newer_format
e = e or create_entry(now, generation, schema, life_until)
local last = 0
for _, window in ipairs(e.windows) do last = math.max(last, window[2]) end
if last > 0 then return { 5, last - now } end -- guard: lease_window
local held = e.lease and now < e.lease[3]
-- A lease from the future was granted before the clock was set back; it would block all other readers until that time.
held = held and e.lease[2] <= now -- guard: lease_future
local servable = e.value and not e.stale
servable = servable and now < e.hard_until -- guard: spent
if e.schema ~= schema then
  if held or servable then return { 6 } end -- guard: lease_schema
  drop_value(e)
  e.schema, held, servable = schema, nil, false
  begin_generation(e, generation) -- guard: takeover_generation
end
if held and e.lease[1] == token then return grant(e, e.lease[2]) end -- guard: lease_repeat
if servable and (why == 'miss' or why == 'stale') then return { 2, stored } end -- guard: lease_already_stored
if servable and why == 'refresh' and now < e.soft_until then return { 2, stored } end -- guard: refresh_due
if servable and #why == 8 and e.version and not is_older(e.version, why) then return { 2, stored } end -- guard: lease_below
if servable and #why > 8 and now - e.loaded_at <= tonumber(why:sub(10)) then return { 2, stored } end
if held then return { e.lease[1] == NO_OWNER and 4 or 3, e.lease[3] - now } end -- guard: lease_exclusive
e.granted = math.min(e.granted + 1, 0xFFFFFFFF)
e.lease = { token, now, lease_until }
e.ends_at = math.max(e.ends_at, life_until) -- guard: lease_life
-- Created, or invalidated by programs that read no replicas: the last invalidation may have been just now.
if lag > 0 and e.invalidated_at == 0 then e.invalidated_at = now end -- guard: unknown_invalidation
save_entry(KEYS[1], e, now)
return grant(e, now)
