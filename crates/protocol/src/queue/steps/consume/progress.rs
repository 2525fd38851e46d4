//! [`Progress`]: how far a handler is.

use super::Receipt;
use crate::queue::job::Note;
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// Stores a delivery's progress in place of the previous one; returns whether the delivery is still held.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The delivery.
    pub receipt: Receipt,
    /// The progress.
    pub progress: Bytes,
}

impl Step<Shard> for Progress {
    type Reply = bool;

    fn check(&self) -> Checked {
        check::text(&self.progress)
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::PROGRESS, Args::default().bytes(self.receipt.encode()).bytes(&self.progress))
    }

    fn reply(&self, value: Value) -> Replied<bool> {
        Ok(wire::count(&value)? == 1)
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<bool> {
        let id = self.receipt.id;
        if !state.is_current(&self.receipt) {
            return Ok(false);
        }
        let Some((_, place, score)) = state.live(id) else { return Ok(false) };
        let Some(mut job) = state.take(id) else { return Ok(false) };
        job.spec.notes.retain(|note| !matches!(note, Note::Progress(_)));
        job.spec.notes.push(Note::Progress(self.progress.clone()));
        state.place(id, job, place, score);
        Ok(true)
    }
}
