//! Adding a job by hand.

use super::Topic;
use bytes::Bytes;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, JobSpec, Keep, Note, Priority, Retries};
use evenkeel_protocol::queue::steps::{Enqueued, NewJob, Shard, When};

/// A job whose type nobody here knows: its body as the topic's codec writes it.
#[derive(Clone, Debug)]
pub struct NewTopicJob {
    /// The body. For the usual codec: JSON.
    pub body: Bytes,
    /// When it is due.
    pub when: When,
    /// The sender's own id, which makes adding it twice harmless; without one it gets a new id.
    pub name: Option<String>,
    /// Which jobs go first.
    pub priority: Priority,
    /// How many attempts follow a failed first one; `None`: as the topic's programs say.
    pub retries: Option<Retries>,
}

impl Topic {
    /// Adds a job, and says under which id and what became of it.
    ///
    /// # Errors
    /// [`QueueError::NeedsDatabase`]: nothing was added. [`QueueError::Link`], [`QueueError::Database`]. With a name of its own, repeat it; without, the job may be there although the call failed.
    pub async fn add(&self, new: NewTopicJob) -> Result<(JobId, Enqueued), QueueError> {
        let id = match &new.name {
            Some(name) => JobId::named(name.as_bytes()),
            None => JobId::generate(self.store.now_ms()),
        };
        let of_topic = self.record.retries.map_or(Retries::Unlimited, Retries::Limited);
        let spec = JobSpec {
            priority: new.priority,
            retries: new.retries.unwrap_or(of_topic),
            discard_exhausted: self.record.discard_exhausted,
            keep: if new.name.is_some() { Keep::AfterEnd(self.record.id_window_ms) } else { Keep::Nothing },
            notes: new.name.map(|name| Note::Name(name.into_bytes().into())).into_iter().collect(),
            codec: Some(self.record.codec),
            ..JobSpec::new(new.body)
        };
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(judge) = &self.judge {
            let answers = judge.enqueue(&[NewJob { id, when: new.when, spec }]).await?;
            let answer = answers.first().copied();
            return answer.map(|answer| (id, answer)).ok_or_else(no_answer);
        }
        let ask = |shard: Shard, jobs: Vec<NewJob>| async move { self.store.enqueue(&shard, &jobs).await };
        let elsewhere = |answer: &Enqueued| *answer == Enqueued::Elsewhere;
        let job = NewJob { id, when: new.when, spec };
        let answers = self.router.route(&[job], |job| job.id, ask, elsewhere).await?;
        let answer = answers.first().copied();
        answer.map(|answer| (id, answer)).ok_or_else(no_answer)
    }
}

fn no_answer() -> QueueError {
    QueueError::Invalid("the store gave no answer".to_owned())
}
