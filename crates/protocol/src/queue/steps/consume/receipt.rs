//! [`Worker`] and [`Receipt`]: who has which delivery.

use crate::queue::job::JobId;
use evenkeel_link::Token;

/// The id of one consumer of one shard, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Worker(pub [u8; 16]);

/// The identity of one delivery, required to settle or extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The job.
    pub id: JobId,
    /// Drawn for the claim.
    pub token: Token,
    /// The fencing token: increases with every delivery of the job; the handler uses it for its SQL writes.
    pub fence: u64,
}

impl Receipt {
    /// As the scripts read it.
    pub(super) fn encode(&self) -> Vec<u8> {
        [&self.id.0[..], &self.fence.to_be_bytes(), self.token.as_bytes()].concat()
    }
}
