//! Lets an operator add a job.

use super::Topic;
use crate::queue::sending::builder::named;
use bytes::Bytes;
use evenkeel_protocol::codec::check_encoded;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, JobSpec, Note, Priority, Retention, Retries};
use evenkeel_protocol::queue::steps::{Enqueue, Enqueued, NewJob, Shard, When};
use std::time::Duration;

/// A job of unknown type, with a body that is encoded already.
#[derive(Clone, Debug)]
pub struct NewTopicJob {
    /// The body, as the topic's codec encodes it. The default codec is JSON.
    pub body: Bytes,
    /// The due time.
    pub when: When,
    /// The caller's id, which makes adding the job idempotent. Without it the job gets a generated id.
    pub name: Option<String>,
    /// Instead of a name: further jobs with this key are rejected for this long from now.
    pub unique: Option<(String, Duration)>,
    /// The priority among due jobs.
    pub priority: Priority,
    /// How many attempts follow a failed first one; `None`: the topic's default.
    pub retries: Option<Retries>,
}

impl Topic {
    /// Adds a job, and returns its id and the result.
    ///
    /// Not guaranteed: that replicas or the disk have the job when this returns, even if the programs of the topic ask for that with
    /// [`Durability`](crate::queue::Durability); a topic does not know what they ask for. With `Durability::Sql` the row is written first.
    ///
    /// # Errors
    /// [`QueueError::Codec`] (no consumer could decode the body), [`QueueError::Invalid`] (a name and a unique key, or an empty one),
    /// [`QueueError::NeedsDatabase`]: nothing was added. [`QueueError::Link`], [`QueueError::Database`]: with a name, repeat the call;
    /// without one, the job may have been added although the call failed.
    pub async fn add(&self, new: NewTopicJob) -> Result<(JobId, Enqueued), QueueError> {
        check_encoded(self.record.codec, &new.body)?;
        for (what, text) in [("an id", new.name.as_ref()), ("a unique key", new.unique.as_ref().map(|(key, _)| key))] {
            text.map_or(Ok(()), |text| named(what, text.len()))?;
        }
        let (id, retention) = match (&new.name, &new.unique) {
            (Some(name), None) => (JobId::named(name.as_bytes()), Retention::AfterEnd(self.record.id_window_ms)),
            (None, Some((key, window))) => (
                JobId::of_unique_key(key.as_bytes()),
                Retention::FromEnqueue(window.as_millis().try_into().unwrap_or(u64::MAX)),
            ),
            (None, None) => (JobId::generate(self.store.now_ms()), Retention::Nothing),
            (Some(_), Some(_)) => {
                return Err(QueueError::Invalid("a job has a name or a unique key, not both; omit one".to_owned()));
            }
        };
        let of_topic = self.record.retries.map_or(Retries::Unlimited, Retries::Limited);
        let spec = JobSpec {
            priority: new.priority,
            retries: new.retries.unwrap_or(of_topic),
            discard_exhausted: self.record.discard_exhausted,
            retention,
            notes: new.name.map(|name| Note::Name(name.into_bytes().into())).into_iter().collect(),
            codec: Some(self.record.codec),
            ..JobSpec::new(new.body)
        };
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            let answers = rows.enqueue(&[NewJob { id, when: new.when, spec }]).await?;
            let answer = answers.first().copied();
            return answer.map(|answer| (id, answer)).ok_or_else(no_answer);
        }
        let ask = |shard: Shard, jobs: Vec<NewJob>| async move { self.store.run(&shard, &Enqueue(jobs)).await };
        let elsewhere = |answer: &Enqueued| *answer == Enqueued::Elsewhere;
        let job = NewJob { id, when: new.when, spec };
        let answers = self.router.route(&[job], |job| job.id, ask, elsewhere).await?;
        let answer = answers.first().copied();
        answer.map(|answer| (id, answer)).ok_or_else(no_answer)
    }
}

fn no_answer() -> QueueError {
    QueueError::Invalid("the store did not reply".to_owned())
}
