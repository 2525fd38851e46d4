//! [`Item`] and [`Transfer`]: what is moved.

use crate::queue::job::JobId;
use bytes::{BufMut, Bytes, BytesMut};

/// An item that may belong to another shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A job that waits or is dead, or the completion record of one that ended.
    Job(JobId),
    /// The last tick of a schedule.
    Schedule([u8; 16]),
}

/// An item in migration from one shard to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Numbers the items from one shard to another, from 1.
    pub sequence: u64,
    /// Its identity: kind (1), id (16), place (1), score (6).
    pub label: Bytes,
    /// The record or completion record; empty for a schedule, and for a completion record that has expired meanwhile.
    pub record: Bytes,
}

/// What kind of item a label names.
pub(super) const JOB: u8 = 1;
pub(super) const SCHEDULE: u8 = 2;
/// The places of jobs that do not wait.
pub(super) const DEAD: u8 = 5;
pub(super) const COMPLETION: u8 = 9;

pub(super) fn label(kind: u8, id: JobId, place: u8, score: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(24);
    out.put_u8(kind);
    out.put_slice(&id.0);
    out.put_u8(place);
    out.put_uint(score, 6);
    out.freeze()
}

pub(super) fn read_label(label: &[u8]) -> Option<(u8, JobId, u8, u64)> {
    let label: &[u8; 24] = label.try_into().ok()?;
    let id: [u8; 16] = label[1..17].try_into().ok()?;
    let score = label[18..].iter().fold(0, |score, byte| score << 8 | u64::from(*byte));
    Some((label[0], JobId(id), label[17], score))
}
