//! The Redis of a run, and its flush.

use super::ledger::Step;
use evenkeel_protocol::stream::entry::Record;
use std::collections::HashSet;
use testkit::park::SharedRedis;
use testkit::servers::Redis;

/// Reads the records of all logs and dead letters, and flushes in the same step.
const FLUSH: &str = "
    local held = {}
    for _, key in ipairs(redis.call('KEYS', '*')) do
        local after, page = '-', {}
        if redis.call('TYPE', key).ok == 'stream' then
            repeat
                page = redis.call('XRANGE', key, after, '+', 'COUNT', 1000)
                for _, entry in ipairs(page) do
                    for field = 1, #entry[2], 2 do
                        if entry[2][field] == 'e' then held[#held + 1] = entry[2][field + 1] end
                    end
                    after = '(' .. entry[1]
                end
            until #page < 1000
        end
    end
    redis.call('FLUSHALL')
    return held";

/// The server.
pub(super) enum Server {
    Shared(SharedRedis),
    /// One that may be flushed.
    Own(Redis),
}

impl Server {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Shared(server) => server.url.clone(),
            Self::Own(server) => server.url(),
        }
    }

    pub(super) fn prefix(&self) -> String {
        match self {
            Self::Shared(server) => server.prefix.clone(),
            Self::Own(_) => "sim".to_owned(),
        }
    }
}

/// Flushes the server. Returns the entries that it held, in the logs and as dead letters.
pub(super) async fn flush(server: &Redis) -> HashSet<Step> {
    let held: Vec<Vec<u8>> = server.command(&["EVAL", FLUSH, "0"]).await.unwrap();
    let step = |record: Vec<u8>| serde_json::from_slice(&Record::decode(&record.into()).unwrap().body).unwrap();
    held.into_iter().map(step).collect()
}
