//! [`Delivery`]: a job in the hands of its handler.

use crate::queue::store::QueueStore;
use bytes::Bytes;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{Job, JobId, Note};
use evenkeel_protocol::queue::steps::{Receipt, Shard};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::SetOnce;

/// A job in the hands of its handler.
///
/// The handler's future is dropped when the delivery is not current any more: another worker may run the job then.
#[derive(Debug)]
pub struct Delivery<T> {
    /// The message.
    pub body: T,
    /// The job's id.
    pub id: JobId,
    /// Which attempt this is, from 1. Attempts that were snoozed or given back do not count.
    pub attempt: u32,
    /// Rises with every delivery of the job, across failovers too: write it with what the handler changes in SQL, and refuse
    /// lower ones (`.. WHERE fence < :fence`), so that a worker that lost its lease cannot overwrite its successor.
    pub fence: u64,
    /// When it was accepted, in ms since 1970 on the server's clock.
    pub enqueued_at: u64,
    /// When it was due; `None` where that is not known any more (the answer to the claim was lost and asked for again).
    pub due_at: Option<u64>,
    notes: Vec<Note>,
    cancellation: Cancellation,
    held: Held,
}

/// Where a delivery is held.
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

    /// The sender's own name for the job, if it gave one.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        self.notes.iter().find_map(|note| if let Note::Name(name) = note { Some(&name[..]) } else { None })
    }

    /// Where the sender's trace goes on, if it said so (W3C `traceparent`).
    #[must_use]
    pub fn trace(&self) -> Option<&str> {
        trace_of(&self.notes)
    }

    /// The text that travels beside the body.
    #[must_use]
    pub fn headers(&self) -> BTreeMap<String, String> {
        let headers = self.notes.iter().find_map(|note| if let Note::Headers(text) = note { Some(text) } else { None });
        headers.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
    }

    /// Notes how far the handler is, in place of what it noted before, for whoever looks at the job and for its next attempt.
    /// Answers whether the delivery is still current. At most 60,000 bytes; not for every row of a long loop: it is a write.
    ///
    /// # Errors
    /// [`QueueError::Link`]: it may not have been noted; repeating it does no harm.
    pub async fn progress(&self, words: impl AsRef<[u8]> + Send) -> Result<bool, QueueError> {
        let words = Bytes::copy_from_slice(words.as_ref());
        self.held.store.progress(&self.held.shard, &self.held.receipt, words).await
    }

    /// What an earlier attempt noted by [`progress`](Self::progress).
    #[must_use]
    pub fn last_progress(&self) -> Option<&[u8]> {
        self.notes.iter().find_map(|note| if let Note::Progress(words) = note { Some(&words[..]) } else { None })
    }

    /// Fires when the delivery is not current any more; for what the handler has started elsewhere (threads, processes).
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// Where the trace of a job goes on.
pub(super) fn trace_of(notes: &[Note]) -> Option<&str> {
    let trace = notes.iter().find_map(|note| if let Note::Trace(trace) = note { Some(trace) } else { None });
    trace.and_then(|trace| std::str::from_utf8(trace).ok())
}

/// Tells that a delivery is not current any more, or that the consumer gives it back because it ends.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<SetOnce<()>>);

impl Cancellation {
    /// Waits until it fires.
    pub async fn cancelled(&self) {
        self.0.wait().await;
    }

    /// Whether it has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.initialized()
    }

    pub(super) fn fire(&self) {
        let _ = self.0.set(());
    }
}
