//! Jobs that a unit of work enqueues, reschedules and withdraws.

use super::{Effects, of_another_keel};
use crate::queue::{JobBuilder, JobOperation, JobPut, Queue};
use crate::sql::error::SqlError;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::{JobId, Note};

impl Effects {
    /// Enqueues a job after the commit. `queue.job(..)` creates the builder; its body is encoded at once. A delay counts from this
    /// call.
    ///
    /// A job with an id ([`JobBuilder::id`]) is an upsert: of several units of work that enqueue a job with that id, the last to commit
    /// wins, whatever the state of the job is then. It does not count against the queue's limits, because the committed effect must
    /// be carried out.
    ///
    /// # Errors
    /// [`SqlError::Queue`]: the job cannot be encoded, is too large, or has a unique key, which an upsert does not support.
    /// [`SqlError::Effect`]: the queue is of a keel over another Redis. The effect was not recorded.
    pub fn enqueue<T: Send + Sync + 'static>(&mut self, job: JobBuilder<'_, T>) -> Result<JobId, SqlError> {
        self.check_queue(job.queue())?;
        let put = job.into_put()?;
        Ok(self.put(put))
    }

    /// Changes the due time or the body of a job that an earlier unit of work enqueued: the builder names it ([`JobBuilder::id`] or
    /// [`JobBuilder::raw_id`]) and replaces it as a whole. It is the same effect as [`enqueue`](Self::enqueue), and runs the job even if
    /// it has run before.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue); [`SqlError::Effect`] if the builder has no id.
    pub fn reschedule<T: Send + Sync + 'static>(&mut self, job: JobBuilder<'_, T>) -> Result<JobId, SqlError> {
        self.check_queue(job.queue())?;
        let put = job.into_put()?;
        if put.version != 0 {
            let sentence = "a job is rescheduled by its id: set the id it was enqueued with (id or raw_id)";
            return Err(SqlError::Effect(sentence.to_owned()));
        }
        Ok(self.put(put))
    }

    /// Withdraws a job after the commit, in any state: waiting, running (its acknowledgement is then rejected) or dead.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a queue of another keel. The effect was not recorded.
    pub fn revoke<T: Send + Sync + 'static>(&mut self, queue: &Queue<T>, id: JobId) -> Result<(), SqlError> {
        self.check_queue(queue)?;
        self.put(queue.withdrawal(id));
        Ok(())
    }

    /// The effects are carried out by this keel and by relays over its Redis: a job of a queue on another Redis would never run.
    fn check_queue<T: Send + Sync + 'static>(&self, queue: &Queue<T>) -> Result<(), SqlError> {
        if !queue.is_in(&self.shared.destinations.queues.store()) && guard("effects_of_one_keel") {
            return Err(of_another_keel("queue", queue.name()));
        }
        Ok(())
    }

    /// Replaces an earlier effect on the same job.
    pub(super) fn put(&mut self, mut put: JobPut) -> JobId {
        if let (Some(trace), JobOperation::Run { spec, .. }) = (&self.trace, &mut put.operation)
            && !spec.notes.iter().any(|note| matches!(note, Note::Trace(_)))
        {
            spec.notes.push(Note::Trace(Bytes::copy_from_slice(trace.as_bytes())));
        }
        let id = put.id;
        self.puts.retain(|earlier| earlier.id != id || earlier.topic != put.topic);
        self.puts.push(put);
        id
    }
}
