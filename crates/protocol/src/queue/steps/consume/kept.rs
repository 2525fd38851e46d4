//! [`ReadKept`]: the call of a worker whose reply is kept.

use super::Worker;
use crate::queue::steps::prelude::*;
use evenkeel_link::Token;

/// Reads the latest call of a worker, whose reply is kept until the next one; `None`: the worker is unknown, or was inactive for
/// [`WORKER_SILENT_MS`](crate::queue::steps::WORKER_SILENT_MS).
#[derive(Clone, Copy, Debug)]
pub struct ReadKept(pub Worker);

/// The call of a worker whose reply is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its sequence.
    pub sequence: u64,
    /// Its token, with which the call is repeated.
    pub token: Token,
}

impl Step<Shard> for ReadKept {
    type Reply = Option<Kept>;

    fn call(&self, shard: &Shard) -> Call {
        Call::command(redis::cmd("HGET").arg(shard.key("answers")).arg(&self.0.0).take())
    }

    /// Sequence (8) and token (16) are the first fields of a kept reply.
    fn reply(&self, value: Value) -> Replied<Option<Kept>> {
        if value == Value::Nil {
            return Ok(None);
        }
        let unexpected = || wire::unexpected("a kept reply");
        let answer = bulk(value)?;
        let fields = answer.get(..8).zip(answer.get(8..24)).ok_or_else(unexpected)?;
        let sequence = fields.0.try_into().map(u64::from_be_bytes).map_err(|_| unexpected())?;
        let token: [u8; 16] = fields.1.try_into().map_err(|_| unexpected())?;
        Ok(Some(Kept { sequence, token: Token::from(token) }))
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<Option<Kept>> {
        Ok(state.answers.get(&self.0).map(|answer| Kept { sequence: answer.sequence, token: answer.token }))
    }
}
