//! [`Forget`]: completion records that may expire.

use crate::queue::job::{FORGET_MS, Retention};
use crate::queue::shard::Record;
use crate::queue::steps::prelude::*;

/// Lets completion records that are kept until then expire; returns for each id whether it was known.
#[derive(Clone, Debug)]
pub struct Forget(pub Vec<JobId>);

impl Step<Shard> for Forget {
    type Reply = Vec<bool>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::FORGET, Args::default().number(FORGET_MS).job_ids(&self.0))
    }

    fn reply(&self, value: Value) -> Replied<Vec<bool>> {
        wire::flags(value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<bool>> {
        Ok(self.0.iter().map(|id| state.forget_one(now, *id)).collect())
    }
}

impl ShardState {
    fn forget_one(&mut self, now: u64, id: JobId) -> bool {
        if let Some(mut completion) = self.completion(id, now) {
            if completion.until.is_none() {
                completion.until = Some(now + FORGET_MS);
                self.record_completion(id, completion);
            }
            return true;
        }
        match self.records.get_mut(&id) {
            Some(Record::Live { job, .. }) => {
                if job.spec.retention == Retention::UntilForgotten {
                    job.spec.retention = Retention::AfterEnd(FORGET_MS);
                }
                true
            }
            _ => false,
        }
    }
}
