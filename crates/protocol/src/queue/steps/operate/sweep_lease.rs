//! [`SweepLease`]: which process compares rows with the store.

use crate::queue::steps::prelude::*;

/// Acquires or extends the lease under which one process compares the rows of a topic with the store. `None`: another process has it;
/// else whether it was free. An embedded store has a single process.
#[derive(Clone, Debug)]
pub struct SweepLease {
    /// The process.
    pub caller: Vec<u8>,
    /// The duration of the lease.
    pub ms: u64,
}

impl Step<Shard> for SweepLease {
    type Reply = Option<bool>;

    fn call(&self, shard: &Shard) -> Call {
        let args = Args::default().bytes(&self.caller).number(self.ms);
        Call::function_of(&scripts::SWEEP, shard.key("sweep"), args)
    }

    fn reply(&self, value: Value) -> Replied<Option<bool>> {
        let answer = integer(&value)?;
        Ok((answer > 0).then_some(answer == 2))
    }

    fn apply(&self, _: &mut ShardState, _: u64) -> Replied<Option<bool>> {
        Ok(Some(false))
    }
}
