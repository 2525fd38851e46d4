-- Encodes and decodes the entry header; header.rs documents the layout. Versions stay 8-byte strings, because a Lua number is
-- exact only up to 2^53. Tables: lease = {token, granted at, until}, windows = {{token, until, suspect until}, ...}.
local HEAD, NO_VERSION = '>BBBBI4c8I4I4I6I6I6I6', '\0\0\0\0\0\0\0\0'

-- The bytes of the longest header.
local HEAD_MAX = 217

-- The entry in `bytes`, or nil and a reason: 'corrupt' or 'newer'. The payload may be cut off.
local function unpack_entry(bytes)
  local format = string.byte(bytes, 1) or 0
  if format ~= 0xF9 then return nil, format > 0xF9 and 'newer' or 'corrupt' end
  local flags, at = string.byte(bytes, 2) or 0, 49
  local function has(flag) return bit.band(flags, flag) ~= 0 end
  local needed = 48 + (has(32) and 28 or 0) + (has(64) and 16 or 0) + (has(128) and 13 or 0)
  local count = has(128) and #bytes >= needed and string.byte(bytes, needed) or 0
  if count > 4 or #bytes < needed + count * 28 then return nil, 'corrupt' end
  local _, _, codec, compression, schema, generation, granted, filled, loaded_at, soft_until, hard_until, ends_at
    = struct.unpack(HEAD, bytes)
  local e = { value = has(1), absent = has(2), stale = has(4), version = nil, lease = nil,
    codec = codec, compression = compression, schema = schema, generation = generation, granted = granted,
    filled = filled, loaded_at = loaded_at, soft_until = soft_until, hard_until = hard_until, ends_at = ends_at,
    floor = NO_VERSION, invalidated_at = 0, suspect_until = 0, windows = {}, payload = '', head_bytes = 0 }
  if has(32) then
    e.lease = { struct.unpack('>c16I6I6', bytes, at) }
    at = at + 28
  end
  if has(64) then
    e.floor, e.version = struct.unpack('c8c8', bytes, at)
    at = at + 16
  end
  if not (has(1) and has(16)) then e.version = nil elseif not has(64) then e.version = NO_VERSION end
  if has(128) then
    e.invalidated_at, e.suspect_until = struct.unpack('>I6I6', bytes, at)
    at = at + 13
  end
  for n = 1, count do
    e.windows[n] = { struct.unpack('>c16I6I6', bytes, at) }
    at = at + 28
  end
  e.head_bytes, e.payload = at - 1, string.sub(bytes, at)
  return e
end

local function pack_head(e)
  local lease, floors, windows = '', '', ''
  if e.lease then lease = struct.pack('>c16I6I6', e.lease[1], e.lease[2], e.lease[3]) end
  if e.floor ~= NO_VERSION or e.version then floors = e.floor .. (e.version or NO_VERSION) end
  if e.invalidated_at > 0 or e.suspect_until > 0 or #e.windows > 0 then
    windows = struct.pack('>I6I6B', e.invalidated_at, e.suspect_until, #e.windows)
    for _, window in ipairs(e.windows) do
      windows = windows .. struct.pack('>c16I6I6', window[1], window[2], window[3])
    end
  end
  -- Flag 8 is for programs of the version before, which then read the primary.
  local flags = (e.value and 1 or 0) + (e.absent and 2 or 0) + (e.stale and 4 or 0) + (e.invalidated_at > 0 and 8 or 0)
    + (e.version and 16 or 0) + (e.lease and 32 or 0) + (floors ~= '' and 64 or 0) + (windows ~= '' and 128 or 0)
  local head = struct.pack(HEAD, 0xF9, flags, e.codec, e.compression, e.schema, e.generation, e.granted, e.filled,
    e.loaded_at, e.soft_until, e.hard_until, e.ends_at)
  return head .. lease .. floors .. windows
end

local function pack_entry(e)
  return pack_head(e) .. e.payload
end

-- Whether version `a` is older than version `b`. (Compares numbers, because Lua compares strings by the locale.)
local function is_older(a, b)
  local a_high, a_low = struct.unpack('>I4I4', a)
  local b_high, b_low = struct.unpack('>I4I4', b)
  return a_high < b_high or (a_high == b_high and a_low < b_low)
end
