-- Decodes and encodes heads of records and completion records; docs/spec/queue.md has the tables of offsets.
-- Cost O(1), the body is never copied.
local NO_OWNER, NO_VERSION = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0', '\0\0\0\0\0\0\0\0'
local STARTED, DISCARD, NOTES, LEASE_EXPIRED = 4, 8, 16, 32
-- Flags in the byte of the fields, whose lower half says which optional fields follow the head.
local SHIELDED, ALONE, FIELDS = 16, 32, 15
-- The maximum length of a head with its optional fields; and the length that is read where the size of a short record is needed as well.
local HEAD_LAST, LOOK_LAST, LOOK_MAX = '87', '511', 512

local function has(flags, flag)
  return bit.band(flags, flag) ~= 0
end

-- The first bytes of a record; none if it does not exist.
local function bytes_of(key, last)
  local raw = ask('GETRANGE', key, '0', last)
  return is_foreign(raw) and '' or raw
end

-- The head of a record, with its optional fields.
local function head_of(s, id)
  return bytes_of(s.job .. id, HEAD_LAST)
end

-- The job in a record; or nil and, for a completion record that has not expired: how it ended, version, expiry, end time.
local function open(s, raw)
  local format = raw and string.byte(raw, 1)
  if format == 2 then
    local _, how, _, version, ended, until_ms = struct.unpack('>BBHc8I6I6', raw)
    if until_ms == 0 or until_ms > s.now then return nil, how, version, until_ms, ended end
  end
  if format ~= 1 then return nil end
  -- With all fields, so that the table is allocated once.
  local j, at, _ = { flags = 0, fields = 0, rule = 0, errors = 0, retries = 0, crashes = 0, lease_expiries = 0, enqueued = 0,
    fence = 0, token = 0, body_at = 0, size = nil }, 41, nil
  _, j.flags, j.fields, j.rule, j.errors, j.retries, j.crashes, j.lease_expiries, j.enqueued, j.fence, j.token =
    struct.unpack('>BBBBHHBBI6I8c16', raw)
  if has(j.fields, 1) then j.expires, j.late, at = struct.unpack('>I6I6', raw, at) end
  if has(j.fields, 2) then j.version, at = struct.unpack('>c8', raw, at) end
  if has(j.fields, 4) then j.window, at = struct.unpack('>I6', raw, at) end
  if has(j.fields, 8) then j.unique, j.unique_ms, at = struct.unpack('>c16I6', raw, at) end
  j.body_at = at
  return j
end

local function head(j)
  return struct.pack('>BBBBHHBBI6I8c16', 1, j.flags, j.fields, j.rule, j.errors, j.retries, j.crashes, j.lease_expiries,
    j.enqueued, j.fence, j.token)
end
