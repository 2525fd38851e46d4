//! [`Delete`]: dead letters that are deleted.

use crate::queue::steps::prelude::*;

/// Deletes dead letters; returns for each id whether it was one.
#[derive(Clone, Debug)]
pub struct Delete(pub Vec<JobId>);

impl Step<Shard> for Delete {
    type Reply = Vec<bool>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::DELETE, Args::default().job_ids(&self.0))
    }

    fn reply(&self, value: Value) -> Replied<Vec<bool>> {
        wire::flags(value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<bool>> {
        let mut delete = |id| matches!(state.live(id), Some((_, State::Dead, _))) && state.delete_one(now, id);
        Ok(self.0.iter().map(|id| delete(*id)).collect())
    }
}
