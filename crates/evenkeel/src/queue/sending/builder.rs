//! [`JobBuilder`]: a job with its options, before it is enqueued.

use super::send;
use crate::queue::queue::Queue;
use bytes::Bytes;
use evenkeel_link::clock::UnixMs;
use evenkeel_link::support::ms;
use evenkeel_protocol::queue::NOTE_BYTES_MAX;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, JobSpec, Note, Priority, Retention, Retries, Unique, UniqueKey};
use evenkeel_protocol::queue::retry_delay::RetryDelay;
use evenkeel_protocol::queue::steps::{Enqueued, NewJob, When};
use std::collections::BTreeMap;
use std::time::Duration;

/// A job with its options. Nothing is sent until [`enqueue`](Self::enqueue) or [`Queue::enqueue_all`].
#[must_use = "nothing is sent until `enqueue`"]
pub struct JobBuilder<'a, T> {
    queue: &'a Queue<T>,
    spec: Result<JobSpec, QueueError>,
    when: When,
    pub(super) id: Option<JobId>,
    name: Option<Bytes>,
    pub(super) unique: Option<(Bytes, Duration)>,
    headers: BTreeMap<String, String>,
}

/// The result of enqueuing one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The job's id.
    pub id: JobId,
    /// Whether the job is new, or which job or completion record existed already.
    pub answer: Enqueued,
}

impl Sent {
    /// Whether this call created the job.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.answer == Enqueued::Created
    }
}

impl<'a, T: Send + Sync + 'static> JobBuilder<'a, T> {
    pub(crate) fn new(queue: &'a Queue<T>, body: &T) -> Self {
        let core = queue.core();
        let spec = core.encode(body).map(|body| JobSpec {
            retries: core.settings.retries,
            discard_exhausted: core.settings.discard_exhausted,
            codec: Some(core.codec.id()),
            ..JobSpec::new(body)
        });
        Self { queue, spec, when: When::In(0), id: None, name: None, unique: None, headers: BTreeMap::new() }
    }

    setters! {
        /// Makes the job due at this time; a time in the past means now.
        pub fn at(due: impl Into<UnixMs>) => when = When::At(due.into().0);

        /// Makes the job due this long after the server has accepted it.
        pub fn delay(delay: Duration) => when = When::In(ms(delay));
    }

    /// Gives the job an id derived from the caller's name of 1 to 60,000 bytes. Sending it again while the job exists, or within
    /// `id_window` after its end, changes nothing, and [`Sent::answer`] reports it.
    pub fn id(mut self, name: impl AsRef<[u8]>) -> Self {
        self.id = Some(JobId::named(name.as_ref()));
        self.name = Some(Bytes::copy_from_slice(name.as_ref()));
        self
    }

    /// Gives the job an id that the caller generated before ([`JobId::generate`]), so that the same job can be sent again after an unknown
    /// outcome.
    pub fn raw_id(mut self, id: JobId) -> Self {
        self.id = Some(id);
        self.name = None;
        self
    }

    /// Rejects further jobs with this key, of 1 to 60,000 bytes, for `window` from now. Without an [`id`](Self::id) the key is the id. A
    /// unique key in addition to an id requires a queue with one shard, because the key and the job must be in the same shard.
    pub fn unique(mut self, key: impl AsRef<[u8]>, window: Duration) -> Self {
        self.unique = Some((Bytes::copy_from_slice(key.as_ref()), window));
        self
    }

    /// The priority among due jobs. Default [`Priority::Normal`].
    pub fn priority(self, priority: Priority) -> Self {
        self.with(|spec| spec.priority = priority)
    }

    /// How many attempts follow a failed first one. Default: the queue's.
    pub fn retries(self, retries: impl Into<Retries>) -> Self {
        let retries = retries.into();
        self.with(|spec| spec.retries = retries)
    }

    /// The delay between attempts. Default: the queue's.
    pub fn retry_delay(self, delay: RetryDelay) -> Self {
        self.with(|spec| spec.notes.push(Note::RetryDelay(delay)))
    }

    /// Discards the job when it is out of retries, instead of making it a dead letter.
    pub fn discard_exhausted(self) -> Self {
        self.with(|spec| spec.discard_exhausted = true)
    }

    /// Ends the job as expired, without running it, if no attempt has started this long after its due time.
    ///
    /// **Guarantee.** Once an attempt has failed, has been snoozed, or was reported as started, the limit no longer applies: the job is
    /// retried however late. Rescheduling and redriving set it again, from the new due time.
    /// **Not guaranteed.** A process reports its attempts with its heartbeats, at a third of the visibility timeout. If it ends before,
    /// the next attempt counts as the first. A job with a row that Redis has lost is restored as one that has not started, and its limit
    /// counts from the due time in the row.
    pub fn drop_if_later_than(self, lateness: Duration) -> Self {
        self.with(|spec| spec.late_ms_max = Some(ms(lateness)))
    }

    /// The trace context of the sender: a W3C `traceparent`.
    pub fn trace(self, traceparent: &str) -> Self {
        let trace = Note::Trace(Bytes::copy_from_slice(traceparent.as_bytes()));
        self.with(|spec| spec.notes.push(trace))
    }

    /// A text header, delivered with the body.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Enqueues the job. It is accepted unless [`Sent::answer`] names a job or completion record that existed already.
    ///
    /// # Errors
    /// As [`Queue::now`].
    pub async fn enqueue(self) -> Result<Sent, QueueError> {
        let queue = self.queue;
        let job = self.into_job(queue)?;
        let sent = send::send(queue, vec![job]).await?;
        match sent.first() {
            Some(Sent { answer: Enqueued::Full, .. }) | None => {
                Err(QueueError::Full { queue: queue.name().to_owned() })
            }
            Some(sent) => Ok(*sent),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut JobSpec)) -> Self {
        if let Ok(spec) = &mut self.spec {
            change(spec);
        }
        self
    }

    /// The queue of the job.
    pub(crate) fn queue(&self) -> &'a Queue<T> {
        self.queue
    }

    pub(crate) fn into_job(self, queue: &Queue<T>) -> Result<NewJob, QueueError> {
        let core = queue.core();
        let mut spec = self.spec?;
        if let Some(name) = &self.name {
            named("an id", name.len())?;
        }
        if let Some((key, _)) = &self.unique {
            named("a unique key", key.len())?;
        }
        if !self.headers.is_empty() {
            let headers = serde_json::to_vec(&self.headers).map_err(|error| QueueError::Invalid(error.to_string()))?;
            spec.notes.push(Note::Headers(headers.into()));
        }
        spec.notes.extend(self.name.map(Note::Name));
        if self.id.is_some() {
            spec.retention = Retention::AfterEnd(ms(core.settings.id_window));
        }
        let id = match (self.id, self.unique) {
            (None, None) => JobId::generate(core.store.now_ms()),
            (Some(id), None) => id,
            (None, Some((key, window))) => {
                spec.retention = Retention::FromEnqueue(ms(window));
                JobId::of_unique_key(&key)
            }
            (Some(id), Some((key, window))) => {
                if core.router.shards().count() > 1 {
                    return Err(QueueError::Invalid(format!(
                        "a unique key in addition to an id requires a queue with one shard, and {} has {}; omit the id (the key \
                         is then the id) or open the topic with one shard",
                        queue.name(),
                        core.router.shards().count()
                    )));
                }
                spec.unique = Some(Unique { key: UniqueKey::new(&key), window_ms: ms(window) });
                id
            }
        };
        let job = NewJob { id, when: self.when, spec };
        // A row or an outbox must not accept a job that the store would always reject.
        job.check()?;
        Ok(job)
    }
}

/// Rejects an empty name, and one that is too long for a record.
pub(crate) fn named(what: &str, bytes: usize) -> Result<(), QueueError> {
    match bytes {
        0 => Err(QueueError::Invalid(format!("{what} must not be empty; omit it or give it at least one byte"))),
        bytes if bytes > NOTE_BYTES_MAX => Err(QueueError::Invalid(format!(
            "{what} has {bytes} bytes, the limit is {NOTE_BYTES_MAX}; use a hash of it"
        ))),
        _ => Ok(()),
    }
}
