-- Most invalidations find no entry and return here, before the functions below are created and the time is read.
local stored = redis.pcall('GET', KEYS[1])
if not stored then return 0 end
