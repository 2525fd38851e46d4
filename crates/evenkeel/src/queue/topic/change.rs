//! Taking jobs back, moving and editing them.

use super::{Answers, Topic};
use crate::queue::error::QueueError;
use crate::queue::job::JobId;
use crate::queue::steps::{QueueSteps, Reschedule, Rescheduled, Revoked, When};
use bytes::Bytes;

impl Topic {
    /// Takes jobs back that are not running, and says of each what happened; see [`Revoked`].
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeat the call: it gives the same answers (for ten minutes at least).
    pub async fn revoke(&self, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        let mut answers = Answers::of(ids.len());
        for (shard, places, ids) in self.calls(ids, |id| *id) {
            answers.put(places, self.store.revoke(&shard, &ids).await?);
        }
        Ok(answers.all())
    }

    /// Gives a waiting job another due time; see [`Rescheduled`].
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeat the call: unless the job was claimed in between it gives the same answer.
    pub async fn reschedule(&self, id: JobId, when: When) -> Result<Rescheduled, QueueError> {
        self.change(Reschedule { id, when: Some(when), body: None }).await
    }

    /// Gives a waiting job another body, as its codec writes it; its due time stays.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule).
    pub async fn edit(&self, id: JobId, body: Bytes) -> Result<Rescheduled, QueueError> {
        self.change(Reschedule { id, when: None, body: Some(body) }).await
    }

    /// Due time, body or both in one step.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule).
    pub async fn change(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        let shard = self.shards.of(change.id);
        let answer = self.store.reschedule(shard, std::slice::from_ref(&change)).await?;
        answer.first().copied().ok_or_else(|| QueueError::Invalid("the store gave no answer".to_owned()))
    }

    /// Makes waiting jobs due now. Priorities still count: a low one goes when nothing more urgent is due.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule).
    pub async fn run_now(&self, ids: &[JobId]) -> Result<Vec<Rescheduled>, QueueError> {
        let mut answers = Answers::of(ids.len());
        for (shard, places, ids) in self.calls(ids, |id| *id) {
            let now = |id: &JobId| Reschedule { id: *id, when: Some(When::In(0)), body: None };
            let changes: Vec<Reschedule> = ids.iter().map(now).collect();
            answers.put(places, self.store.reschedule(&shard, &changes).await?);
        }
        Ok(answers.all())
    }

    /// Deletes dead letters; says of each id whether it was one. Nobody can bring them back.
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeat the call: what it deleted before is answered `false`.
    pub async fn delete_dead(&self, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        let mut answers = Answers::of(ids.len());
        for (shard, places, ids) in self.calls(ids, |id| *id) {
            answers.put(places, self.store.delete(&shard, &ids).await?);
        }
        Ok(answers.all())
    }
}
