//! Jobs that follow something else that has versions, such as a row: the newest version wins, however late the others come.

use super::builder::Order;
use crate::queue::queue::Queue;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, Keep};
use evenkeel_protocol::queue::retry_delay::ms;
use evenkeel_protocol::queue::steps::{Put, PutAnswer, PutChange};

impl<T: Send + Sync + 'static> Order<'_, T> {
    /// Puts the job there as version `version` of its [`id`](Self::id): it replaces an older version wherever that one is (waiting,
    /// running, dead, ended), and changes nothing if this one or a newer one is there. A delivery of an older version that runs is
    /// not current any more. The limits of the queue do not apply, nor does its durability.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] without an id, with a unique key, with version 0, or for a queue with `Durability::Sql`;
    /// [`QueueError::TooLarge`], [`QueueError::Codec`]: nothing was sent; [`QueueError::Link`]: put it again.
    pub async fn put(self, version: u64) -> Result<PutAnswer, QueueError> {
        let queue = self.queue();
        if !self.has_id() {
            return Err(QueueError::Invalid(
                "a version belongs to an id of yours: say `id(..)` before `put`".to_owned(),
            ));
        }
        let job = self.into_job(queue)?;
        queue.put_one(Put { id: job.id, version, change: PutChange::Job(job.when, Box::new(job.spec)) }).await
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// There is no job of this id any more from `version` on: what was put as an older version is taken back, running or not, and
    /// one that comes later is refused.
    ///
    /// # Errors
    /// As [`Order::put`].
    pub async fn withdraw(&self, id: &JobId, version: u64) -> Result<PutAnswer, QueueError> {
        let keep = Keep::AfterEnd(ms(self.core().settings.id_window));
        self.put_one(Put { id: *id, version, change: PutChange::Withdraw(keep) }).await
    }

    async fn put_one(&self, put: Put) -> Result<PutAnswer, QueueError> {
        #[cfg(feature = "sql")]
        if self.is_judged() {
            let words =
                "rows judge the jobs of this queue, and count their versions themselves; send it in a unit of work";
            return Err(QueueError::Invalid(words.to_owned()));
        }
        let answers = self.core().router.put(&[put]).await?;
        answers.first().copied().ok_or_else(|| QueueError::Invalid("the store gave no answer".to_owned()))
    }
}
