//! [`ReadPiece`]: a part of a large record.

use crate::queue::record::encode_job;
use crate::queue::steps::PIECE_BYTES_MAX;
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// Reads some bytes of a record, regardless of its delivery: fewer at its end, none of an unknown id.
#[derive(Clone, Copy, Debug)]
pub struct ReadPiece {
    /// The job.
    pub id: JobId,
    /// The first byte.
    pub from: u64,
    /// The number of bytes, from 1 to [`PIECE_BYTES_MAX`].
    pub bytes: u64,
}

impl Step<Shard> for ReadPiece {
    type Reply = Bytes;

    fn check(&self) -> Checked {
        let fits = (1..=PIECE_BYTES_MAX).contains(&self.bytes);
        check::ensure(fits, "a piece of a record must have between 1 byte and 1 MiB")
    }

    fn call(&self, shard: &Shard) -> Call {
        let mut key = shard.key("job:").into_bytes();
        key.extend_from_slice(&self.id.0);
        let last = self.from.saturating_add(self.bytes - 1);
        Call::command(redis::cmd("GETRANGE").arg(key).arg(self.from).arg(last).take()).large(self.bytes)
    }

    fn reply(&self, value: Value) -> Replied<Bytes> {
        Ok(bulk(value)?)
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<Bytes> {
        let Some((job, _, _)) = state.live(self.id) else { return Ok(Bytes::new()) };
        let record = encode_job(job);
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(record.len());
        Ok(record.slice(place(self.from)..place(self.from.saturating_add(self.bytes))))
    }
}
