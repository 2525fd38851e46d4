//! [`ScanIds`]: the ids of a shard.

use crate::pattern::escaped;
use crate::queue::steps::prelude::*;

/// The keys that one `SCAN` call examines.
const SCAN_COUNT: usize = 1_000;

/// Reads some ids with a record or a completion record in the shard, and the next cursor; 0 is the first and the last one.
#[derive(Clone, Copy, Debug)]
pub struct ScanIds {
    /// The cursor.
    pub cursor: u64,
}

impl Step<Shard> for ScanIds {
    type Reply = (Vec<JobId>, u64);

    fn call(&self, shard: &Shard) -> Call {
        let mut scan = redis::cmd("SCAN");
        let keys = format!("{}*", escaped(&shard.key("job:")));
        scan.arg(self.cursor).arg("MATCH").arg(keys).arg("COUNT").arg(SCAN_COUNT);
        Call::command(scan)
    }

    fn reply(&self, value: Value) -> Replied<(Vec<JobId>, u64)> {
        let [next, found] = <[Value; 2]>::try_from(array(value)?).map_err(|_| wire::unexpected("SCAN"))?;
        let found = array(found)?.into_iter().filter_map(|key| id_of(&bulk(key).ok()?));
        Ok((found.collect(), unsigned(&next)?))
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<(Vec<JobId>, u64)> {
        Ok((state.records.keys().copied().collect(), 0))
    }
}

/// The id in the key of a job. Only the end of the shard's tag has a brace.
fn id_of(key: &[u8]) -> Option<JobId> {
    const BEFORE: &[u8] = b"}:job:";
    let at = key.windows(BEFORE.len()).position(|part| part == BEFORE)?;
    wire::job_id(&key[at + BEFORE.len()..]).ok()
}
