-- Moves a group: drops its pending entries and raises its epoch, so that deliveries before the seek have no effect.
-- KEYS 1 partition    ARGV 1 group, 2 the id after which it goes on ($: the end)
-- Replies {0} missing · {1}
-- Cost O(pending). A repeat seeks again.
if not g.epoch or call('EXISTS', LOG) == 0 then return { MISSING } end
call('XGROUP', 'DESTROY', LOG, group)
call('XGROUP', 'CREATE', LOG, group, ARGV[2])
call('UNLINK', DUE, LEASED, TRIES, SEEN)
call('HDEL', G, 'taken')
call('HSET', G, 'epoch', text(math.max(tonumber(g.epoch) + 1, NOW))) -- guard: stream_seek_epoch
return { DONE }
