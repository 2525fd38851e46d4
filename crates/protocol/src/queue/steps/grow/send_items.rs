//! [`SendItems`]: items that leave for other shards.

use super::item::{COMPLETION, DEAD, JOB, SCHEDULE, label};
use super::{Item, Transfer};
use crate::queue::record::{encode_completion, encode_job};
use crate::queue::steps::prelude::*;
use bytes::Bytes;

/// Removes items that belong to other shards from this one.
#[derive(Clone, Debug)]
pub struct SendItems(pub Vec<Item>);

/// The result of `send_items`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It does not exist here, or it belongs here.
    No,
    /// It was removed and waits for its new shard.
    Sent,
    /// It is leased; it can be sent after its delivery has ended.
    Leased,
}

impl Step<Shard> for SendItems {
    type Reply = Vec<SendOutcome>;

    fn check(&self) -> Checked {
        check::items(self.0.len())
    }

    fn call(&self, _: &Shard) -> Call {
        let args = self.0.iter().fold(Args::default(), |args, item| {
            args.bytes(match item {
                Item::Job(id) => [&[JOB], &id.0[..]].concat(),
                Item::Schedule(schedule) => [&[SCHEDULE], &schedule[..]].concat(),
            })
        });
        Call::function(&scripts::SEND, args)
    }

    fn reply(&self, value: Value) -> Replied<Vec<SendOutcome>> {
        let all = [SendOutcome::No, SendOutcome::Sent, SendOutcome::Leased];
        bulk(value)?.iter().map(|code| wire::coded(&all, u64::from(*code), "send_items")).collect()
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Vec<SendOutcome>> {
        Ok(self.0.iter().map(|item| state.send_item(now, *item)).collect())
    }
}

impl ShardState {
    fn send_item(&mut self, now: u64, item: Item) -> SendOutcome {
        let id = match item {
            Item::Job(id) => id,
            Item::Schedule(schedule) => JobId(schedule),
        };
        let Some(keeper) = self.elsewhere(id) else { return SendOutcome::No };
        if let Item::Schedule(schedule) = item {
            let Some(last) = self.schedules.remove(&schedule) else { return SendOutcome::No };
            return self.send(keeper, label(SCHEDULE, id, 0, last), Bytes::new());
        }
        match self.live(id).map(|(_, state, score)| (state, score)) {
            Some((State::Leased, _)) => SendOutcome::Leased,
            Some((state, score)) => {
                let Some(job) = self.take(id) else { return SendOutcome::No };
                let place = if let State::Waiting(priority) = state { priority as u8 } else { DEAD };
                self.send(keeper, label(JOB, id, place, score), encode_job(&job))
            }
            None => {
                let Some(completion) = self.completion(id, now) else { return SendOutcome::No };
                self.records.remove(&id);
                self.send(keeper, label(JOB, id, COMPLETION, 0), encode_completion(&completion))
            }
        }
    }

    fn send(&mut self, keeper: u16, label: Bytes, record: Bytes) -> SendOutcome {
        let sequence = self.last_sent.entry(keeper).or_default();
        *sequence += 1;
        self.leaving.entry(keeper).or_default().insert(*sequence, Transfer { sequence: *sequence, label, record });
        SendOutcome::Sent
    }
}
