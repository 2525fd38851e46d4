//! [`ReadLeaving`]: the items on their way to another shard.

use super::Transfer;
use crate::queue::record::Record;
use crate::queue::steps::prelude::*;
use crate::queue::steps::{CLAIM_BYTES_MAX, PIECE_BYTES_MAX};
use bytes::Bytes;

/// Reads the first items that were removed for shard `to`: records of at most 4 MiB in all, and one above 1 MiB alone.
#[derive(Clone, Copy, Debug)]
pub struct ReadLeaving {
    /// The number of their new shard.
    pub to: u16,
    /// The maximum number of items.
    pub limit: usize,
}

impl Step<Shard> for ReadLeaving {
    type Reply = Vec<Transfer>;

    fn check(&self) -> Checked {
        check::items(self.limit)
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().number(self.to.into()).size(self.limit).bytes("");
        Call::function(&scripts::LEAVING, args)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Transfer>> {
        let mut fields = array(value)?.into_iter();
        let mut transfers = Vec::new();
        while let (Some(sequence), Some(label), Some(record)) = (fields.next(), fields.next(), fields.next()) {
            transfers.push(Transfer { sequence: unsigned(&sequence)?, label: bulk(label)?, record: bulk(record)? });
        }
        Ok(transfers)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<Transfer>> {
        let waiting = state.leaving.get(&self.to).into_iter().flat_map(|leaving| leaving.values());
        Ok(within_bytes(waiting.take(self.limit).map(|transfer| without_expired_completion(transfer, now))))
    }

    /// A large first record is not in the reply, which has its size; another call reads it alone.
    async fn send(&self, redis: &Redis<Shard>, shard: &Shard) -> Replied<Vec<Transfer>> {
        let fields = array(redis.call(shard, self.call(shard)).await?)?;
        if let [_, _, Value::Int(size)] = fields.as_slice() {
            let args = Args::default().number(self.to.into()).size(1).bytes("1");
            let call = Call::function(&scripts::LEAVING, args).large(u64::try_from(*size).unwrap_or(0));
            return self.reply(redis.call(shard, call).await?);
        }
        self.reply(Value::Array(fields))
    }
}

/// The transfers that fit into one reply: the first regardless of its size, and a large one only alone.
fn within_bytes(transfers: impl Iterator<Item = Transfer>) -> Vec<Transfer> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for transfer in transfers {
        let goes_alone = is_large(&transfer) || taken.iter().any(is_large);
        bytes += u64::try_from(transfer.record.len()).unwrap_or(u64::MAX);
        if !taken.is_empty() && (goes_alone || bytes > CLAIM_BYTES_MAX) && guard("model_leaving_bytes") {
            break;
        }
        taken.push(transfer);
    }
    taken
}

fn is_large(transfer: &Transfer) -> bool {
    u64::try_from(transfer.record.len()).unwrap_or(u64::MAX) > PIECE_BYTES_MAX
}

/// Drops the record of a completion record that has expired during the migration.
fn without_expired_completion(transfer: &Transfer, now: u64) -> Transfer {
    let expired = matches!(Record::decode(&transfer.record), Ok(Record::Ended(completion)) if completion.until.is_some_and(|until| until <= now));
    Transfer { record: if expired { Bytes::new() } else { transfer.record.clone() }, ..transfer.clone() }
}
