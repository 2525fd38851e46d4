//! [`Delivery`]: a job as its handler receives it.

use crate::handling::cancellation::Cancellation;
use crate::queue::store::QueueStore;
use bytes::Bytes;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, JobId, Note};
use evenkeel_protocol::queue::steps::{Progress, Receipt, Shard};
use std::collections::BTreeMap;
use std::fmt;

/// A job as its handler receives it.
///
/// The handler's future is dropped when the delivery is no longer current, because another worker may then run the job.
#[derive(Debug)]
pub struct Delivery<T> {
    /// The decoded body.
    pub body: T,
    /// The job's id.
    pub id: JobId,
    /// The number of this attempt, from 1. Snoozed and released attempts do not count.
    pub attempt: u32,
    /// The fencing token. It rises with every delivery of the job, also across failovers: write it with each change in SQL, and reject
    /// lower ones (`.. WHERE fence < :fence`), so that a worker that lost its lease cannot overwrite the changes of its successor.
    pub fence: u64,
    /// When the queue accepted the job, in ms since 1970 on the server's clock.
    pub enqueued_at: u64,
    /// When the job was due; `None` if it is unknown because the reply to the claim was lost and the call repeated.
    pub due_at: Option<u64>,
    notes: Vec<Note>,
    cancellation: Cancellation,
    held: Held,
}

/// The store, shard and receipt of a delivery.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) store: QueueStore,
    pub(super) shard: Shard,
    pub(super) receipt: Receipt,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {:?}", self.receipt, self.shard)
    }
}

impl<T> Delivery<T> {
    pub(super) fn new(body: T, held: Held, due_at: u64, job: Job, cancellation: Cancellation) -> Self {
        Self {
            body,
            id: held.receipt.id,
            attempt: u32::from(job.errors) + 1,
            fence: held.receipt.fence,
            enqueued_at: job.enqueued_at,
            due_at: (due_at > 0).then_some(due_at),
            notes: job.spec.notes,
            cancellation,
            held,
        }
    }

    pub(super) fn receipt(&self) -> Receipt {
        self.held.receipt
    }

    /// The caller's id of the job, if the sender has set one.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        self.notes.iter().find_map(|note| if let Note::Name(name) = note { Some(&name[..]) } else { None })
    }

    /// The trace context of the sender (W3C `traceparent`), if it has set one.
    #[must_use]
    pub fn trace(&self) -> Option<&str> {
        trace_of(&self.notes)
    }

    /// The text headers of the job.
    #[must_use]
    pub fn headers(&self) -> BTreeMap<String, String> {
        let headers = self.notes.iter().find_map(|note| if let Note::Headers(text) = note { Some(text) } else { None });
        headers.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
    }

    /// Stores a progress note of at most 60,000 bytes in the job, replacing the previous one, for operators and for the next attempt.
    /// Returns whether the delivery is still current. Each call is a write to the store, so do not call it for every row of a long loop.
    ///
    /// # Errors
    /// [`QueueError::Link`]: the note may not have been stored; repeating the call is idempotent.
    pub async fn progress(&self, note: impl AsRef<[u8]> + Send) -> Result<bool, QueueError> {
        let note = Bytes::copy_from_slice(note.as_ref());
        self.held.store.run(&self.held.shard, &Progress { receipt: self.held.receipt, progress: note }).await
    }

    /// The last [`progress`](Self::progress) note of earlier attempts.
    #[must_use]
    pub fn last_progress(&self) -> Option<&[u8]> {
        self.notes.iter().find_map(|note| if let Note::Progress(text) = note { Some(&text[..]) } else { None })
    }

    /// A signal that fires when the delivery is no longer current, for threads and processes that the handler has started.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// The trace context of a job.
pub(super) fn trace_of(notes: &[Note]) -> Option<&str> {
    let trace = notes.iter().find_map(|note| if let Note::Trace(trace) = note { Some(trace) } else { None });
    trace.and_then(|trace| std::str::from_utf8(trace).ok())
}
