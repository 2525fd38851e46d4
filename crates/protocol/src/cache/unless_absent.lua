-- Most invalidations find nothing: these end here, before the functions below are made and the time is asked for.
local stored = redis.pcall('GET', KEYS[1])
if not stored then return 0 end
