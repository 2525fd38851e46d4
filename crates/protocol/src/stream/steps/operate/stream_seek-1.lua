-- Moves a group: drops its pending entries and raises its epoch, so that deliveries before the seek have no effect.
-- KEYS 1 partition    ARGV 1 group, 2 the id after which it goes on ($: the end)
-- Replies {0} missing · {1}
-- Cost O(pending). A repeat seeks again.
local s = group_of(KEYS[1], ARGV[1])
if not s.group.epoch or redis.call('EXISTS', s.log) == 0 then return { MISSING } end
redis.call('XGROUP', 'DESTROY', s.log, s.name)
redis.call('XGROUP', 'CREATE', s.log, s.name, ARGV[2])
redis.call('UNLINK', s.due, s.leased, s.tries, s.seen)
redis.call('HDEL', s.key, 'taken')
redis.call('HSET', s.key, 'epoch', text(math.max(tonumber(s.group.epoch) + 1, s.now))) -- guard: stream_seek_epoch
return { DONE }
