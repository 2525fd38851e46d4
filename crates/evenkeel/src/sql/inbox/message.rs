//! What names a message.

use crate::sql::WorkId;
use evenkeel_link::clock::UnixMs;
use evenkeel_protocol::queue::job::JobId;

/// The name of a message, the same in every delivery of it; at most 255 bytes. Made from text, bytes, a [`JobId`] or a [`WorkId`].
///
/// A name that knows when it was sent ([`sent_at`](Self::sent_at)) is never run twice, however late it comes: older than the
/// retention it is parked. One that does not is run again if it comes back after the retention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageId {
    pub(super) name: Vec<u8>,
    pub(super) sent_at: Option<UnixMs>,
}

impl MessageId {
    /// Says when the message was sent, on any clock that is about right (ten minutes are forgiven).
    #[must_use]
    pub fn sent_at(mut self, time: impl Into<UnixMs>) -> Self {
        self.sent_at = Some(time.into());
        self
    }
}

impl From<&[u8]> for MessageId {
    fn from(name: &[u8]) -> Self {
        Self { name: name.to_vec(), sent_at: None }
    }
}

impl From<&str> for MessageId {
    fn from(name: &str) -> Self {
        name.as_bytes().into()
    }
}

impl From<&String> for MessageId {
    fn from(name: &String) -> Self {
        name.as_bytes().into()
    }
}

impl From<String> for MessageId {
    fn from(name: String) -> Self {
        Self { name: name.into_bytes(), sent_at: None }
    }
}

/// A job's id says nothing about its time: it may be the hash of a name.
impl From<JobId> for MessageId {
    fn from(job: JobId) -> Self {
        job.0.as_slice().into()
    }
}

/// A work's id begins with its time.
impl From<WorkId> for MessageId {
    fn from(work: WorkId) -> Self {
        let ms = work.0[..6].iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte));
        Self { name: work.0.to_vec(), sent_at: Some(UnixMs(ms)) }
    }
}
