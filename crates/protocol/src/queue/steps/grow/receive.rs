//! [`Receive`]: items that arrive from another shard.

use super::Transfer;
use super::item::{SCHEDULE, read_label};
use crate::queue::job::Priority;
use crate::queue::record::Record;
use crate::queue::steps::prelude::*;

/// Adds the items of shard `from`, each once and in order; returns the last sequence number that was added.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The number of their previous shard.
    pub from: u16,
    /// The items.
    pub transfers: Vec<Transfer>,
}

impl Step<Shard> for Receive {
    type Reply = u64;

    fn check(&self) -> Checked {
        check::items(self.transfers.len())
    }

    fn call(&self, _: &Shard) -> Call {
        let args = self.transfers.iter().fold(Args::default().number(self.from.into()), |args, transfer| {
            args.number(transfer.sequence).bytes(&transfer.label).bytes(&transfer.record)
        });
        Call::function(&scripts::RECEIVE, args)
    }

    fn reply(&self, value: Value) -> Replied<u64> {
        wire::count(&value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<u64> {
        let mut last = state.last_received.get(&self.from).copied().unwrap_or(0);
        for transfer in &self.transfers {
            if transfer.sequence == last + 1 {
                state.receive_one(now, transfer)?;
                last += 1;
            }
        }
        state.last_received.insert(self.from, last);
        state.announce(now);
        Ok(last)
    }
}

impl ShardState {
    fn receive_one(&mut self, now: u64, transfer: &Transfer) -> Replied<()> {
        let Some((kind, id, place, score)) = read_label(&transfer.label) else {
            return Err(QueueError::Invalid("the label of a migrating item cannot be decoded".to_owned()));
        };
        if kind == SCHEDULE {
            self.schedules.entry(id.0).or_insert(score);
            return Ok(());
        }
        // A job or completion record that this shard already has takes precedence.
        if transfer.record.is_empty() || self.live(id).is_some() || self.completion(id, now).is_some() {
            return Ok(());
        }
        match Record::decode(&transfer.record)? {
            Record::Live(job) => {
                let state = Priority::ALL.get(usize::from(place)).map_or(State::Dead, |at| State::Waiting(*at));
                if state != State::Dead {
                    self.added.insert((usize::from(place), id));
                }
                self.place(id, job, state, score);
            }
            Record::Ended(completion) => self.record_completion(id, completion),
        }
        Ok(())
    }
}
