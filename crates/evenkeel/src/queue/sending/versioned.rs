//! Jobs with versions, such as those of a row: the newest version wins, in whatever order the versions arrive.

use super::builder::JobBuilder;
use crate::queue::queue::Queue;
use evenkeel_link::support::ms;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, Retention};
use evenkeel_protocol::queue::steps::{Put, PutAnswer, PutChange};

impl<T: Send + Sync + 'static> JobBuilder<'_, T> {
    /// Upserts the job as version `version` of its [`id`](Self::id): it replaces an older version in any state (waiting, running, dead,
    /// ended), and changes nothing if this version or a newer one exists. A running delivery of an older version is no longer current.
    /// The limits and the durability of the queue do not apply.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] without an id, with a unique key, with version 0, or for a queue with `Durability::Sql`;
    /// [`QueueError::TooLarge`], [`QueueError::Codec`]: nothing was sent; [`QueueError::Link`]: repeat the call.
    pub async fn put(self, version: u64) -> Result<PutAnswer, QueueError> {
        let queue = self.queue();
        if self.id.is_none() {
            return Err(QueueError::Invalid("a versioned job requires an id; set `id(..)` before `put`".to_owned()));
        }
        let job = self.into_job(queue)?;
        queue.put_one(Put { id: job.id, version, change: PutChange::Job(job.when, Box::new(job.spec)) }).await
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Removes the job of this id as of `version`: an older version is withdrawn in any state, also while it runs, and an older version
    /// that arrives later is rejected.
    ///
    /// # Errors
    /// As [`JobBuilder::put`].
    pub async fn withdraw(&self, id: &JobId, version: u64) -> Result<PutAnswer, QueueError> {
        let retention = Retention::AfterEnd(ms(self.core().settings.id_window));
        self.put_one(Put { id: *id, version, change: PutChange::Withdraw(retention) }).await
    }

    async fn put_one(&self, put: Put) -> Result<PutAnswer, QueueError> {
        #[cfg(feature = "sql")]
        if self.has_rows() {
            let message =
                "rows decide about the jobs of this queue and assign their versions; send the job in a unit of work";
            return Err(QueueError::Invalid(message.to_owned()));
        }
        let answers = self.core().router.put(&[put]).await?;
        answers.first().copied().ok_or_else(|| QueueError::Invalid("the store did not reply".to_owned()))
    }
}
