//! The name of a message.

use crate::sql::WorkId;
use evenkeel_link::clock::UnixMs;
#[cfg(feature = "queue")]
use evenkeel_protocol::queue::job::JobId;

/// The name of a message, equal in all its deliveries; at most 255 bytes. Created from text, bytes, a `JobId` or a [`WorkId`].
///
/// A message whose name includes its sending time ([`sent_at`](Self::sent_at)) is never run twice, however late it is delivered: if
/// it is older than the retention it is parked. A message without one is run again if it is redelivered after the retention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageId {
    pub(super) name: Vec<u8>,
    pub(super) sent_at: Option<UnixMs>,
}

impl MessageId {
    /// Adds the time at which the message was sent, by any clock that is accurate to ten minutes.
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

/// A job's id does not include a time: it may be the hash of a name.
#[cfg(feature = "queue")]
impl From<JobId> for MessageId {
    fn from(job: JobId) -> Self {
        job.0.as_slice().into()
    }
}

/// The id of a unit of work begins with its time.
impl From<WorkId> for MessageId {
    fn from(work: WorkId) -> Self {
        let ms = work.0[..6].iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte));
        Self { name: work.0.to_vec(), sent_at: Some(UnixMs(ms)) }
    }
}
