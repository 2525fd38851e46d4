//! Lets an operator revoke, reschedule, edit and delete jobs. Where rows decide about the jobs, the row is changed first and its state is
//! the result.

use super::Topic;
use bytes::Bytes;
#[cfg(feature = "sql")]
use evenkeel_link::support::Tried;
use evenkeel_protocol::codec::check_encoded;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::{Amend, Amended, Reschedule, Rescheduled, Revoked, When};

impl Topic {
    /// Revokes jobs that are not running, and returns the result of each; see [`Revoked`].
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]; repeat the call: it returns the same results, for at least ten minutes. A shard or a
    /// row that is rejected stops no other: the other jobs were revoked. [`QueueError::NeedsDatabase`]: nothing was changed.
    pub async fn revoke(&self, ids: &[JobId]) -> Result<Vec<Revoked>, QueueError> {
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return each(ids, |id| rows.revoke(*id)).await;
        }
        self.router.revoke(ids).await
    }

    /// Gives a waiting job another due time; see [`Rescheduled`].
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]; repeat the call: it returns the same result, unless the job was claimed in between.
    /// [`QueueError::NeedsDatabase`]: nothing was changed.
    pub async fn reschedule(&self, id: JobId, when: When) -> Result<Rescheduled, QueueError> {
        self.change(Reschedule { id, when: Some(when), body: None, codec: None }).await
    }

    /// Gives a waiting job another body, which is encoded with the topic's codec; its due time stays.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule); [`QueueError::Codec`]: no consumer could decode the body, nothing was sent.
    pub async fn edit(&self, id: JobId, body: Bytes) -> Result<Rescheduled, QueueError> {
        self.change(Reschedule { id, when: None, body: Some(body), codec: Some(self.record.codec) }).await
    }

    /// Changes the due time, the body or both in one step.
    ///
    /// # Errors
    /// As [`edit`](Self::edit).
    pub async fn change(&self, change: Reschedule) -> Result<Rescheduled, QueueError> {
        if let Some(body) = &change.body {
            check_encoded(change.codec.unwrap_or(self.record.codec), body)?;
        }
        let answer = self.changes(&[change]).await?;
        answer.first().copied().ok_or_else(|| QueueError::Invalid("the store did not reply".to_owned()))
    }

    /// Makes waiting jobs due now. Priorities still apply: a job runs once no more urgent job is due.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule).
    pub async fn run_now(&self, ids: &[JobId]) -> Result<Vec<Rescheduled>, QueueError> {
        let now = |id: &JobId| Reschedule { id: *id, when: Some(When::In(0)), body: None, codec: None };
        let changes: Vec<Reschedule> = ids.iter().map(now).collect();
        self.changes(&changes).await
    }

    /// Replaces the body of a dead letter, which is encoded with the topic's codec, if its body is still `seen`, byte for byte; see
    /// [`Amended`]. It stays a dead letter: redrive it to run it.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]; repeat the call: it returns the same result. [`QueueError::NeedsDatabase`],
    /// [`QueueError::Codec`] (no consumer could decode the body): nothing was changed.
    pub async fn amend(&self, id: JobId, seen: Bytes, body: Bytes) -> Result<Amended, QueueError> {
        check_encoded(self.record.codec, &body)?;
        self.check_rows()?;
        let amend = Amend { id, seen, body, codec: Some(self.record.codec) };
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return rows.amend(amend).await;
        }
        self.router.amend(amend).await
    }

    /// Deletes dead letters permanently; returns for each id whether it was a dead letter.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]; repeat the call: it returns `false` for what the first call deleted.
    /// [`QueueError::NeedsDatabase`]: nothing was changed.
    pub async fn delete_dead(&self, ids: &[JobId]) -> Result<Vec<bool>, QueueError> {
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return each(ids, |id| rows.delete_dead(*id)).await;
        }
        self.router.delete(ids).await
    }

    async fn changes(&self, changes: &[Reschedule]) -> Result<Vec<Rescheduled>, QueueError> {
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return each(changes, |change| rows.reschedule(change.clone())).await;
        }
        self.router.reschedule(changes).await
    }
}

/// Changes each of some jobs by its row; one that is rejected stops no other.
#[cfg(feature = "sql")]
async fn each<'a, I, A, F>(items: &'a [I], change: impl Fn(&'a I) -> F) -> Result<Vec<A>, QueueError>
where
    F: Future<Output = Result<A, QueueError>>,
{
    let (mut answers, mut tried) = (Vec::with_capacity(items.len()), Tried::unless(QueueError::is_retryable));
    for item in items {
        answers.extend(tried.note(change(item).await)?);
    }
    tried.finish().map(|()| answers)
}
