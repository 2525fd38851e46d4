//! [`Settle`]: how deliveries ended.

use super::{Delivery, Reader};
use crate::stream::partition::{Log, next_id};
use crate::stream::steps::DeadLetter;
use crate::stream::steps::prelude::*;
use crate::stream::tries::NoteKind;
use bytes::Bytes;

/// Records how deliveries ended.
#[derive(Clone, Debug)]
pub struct Settle {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub reader: Reader,
    /// The ends of the deliveries.
    pub settlements: Vec<Settlement>,
}

/// The end of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The delivery.
    pub delivery: Delivery,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The entry is handled.
    Done,
    /// It failed and is delivered again after the delay; counts as an error.
    Retry {
        /// From the server's now.
        delay_ms: u64,
        /// The error's text.
        error: Bytes,
    },
    /// It was not handled and is delivered again after the delay; counts as nothing.
    Snooze {
        /// From the server's now; 0 when a consumer stops.
        delay_ms: u64,
    },
    /// It becomes a dead letter of the group.
    Dead {
        /// Why.
        reason: Bytes,
        /// Whether later entries of its key must follow it (`DeadLetterSequence`).
        parks_key: bool,
    },
}

/// The reply to a [`Settlement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was recorded.
    Settled,
    /// The outcome of this entry, or of this delivery, is already recorded: by an earlier call of this consumer, or by a later owner.
    AlreadySettled,
    /// The entry has been delivered to another consumer since, or again to this one. Nothing changed.
    Stale,
}

impl Step<Partition> for Settle {
    type Reply = Reply<Vec<Verdict>>;

    fn check(&self) -> Checked {
        check::items(self.settlements.len())?;
        self.settlements.iter().try_for_each(|settlement| match &settlement.outcome {
            Outcome::Done => Ok(()),
            Outcome::Snooze { delay_ms } => check::span(*delay_ms),
            Outcome::Retry { delay_ms, error } => check::span(*delay_ms).and_then(|()| check::text(error)),
            Outcome::Dead { reason, .. } => check::text(reason),
        })
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).reader(self.reader);
        let args = self.settlements.iter().fold(args, |args, settlement| {
            let args = args.delivery(settlement.delivery);
            let (kind, delay, text): (&str, u64, &[u8]) = match &settlement.outcome {
                Outcome::Done => return args.bytes("0"),
                Outcome::Retry { delay_ms, error } => ("1", *delay_ms, error),
                Outcome::Snooze { delay_ms } => ("2", *delay_ms, &[]),
                Outcome::Dead { reason, parks_key: false } => ("3", 0, reason),
                Outcome::Dead { reason, parks_key: true } => ("4", 0, reason),
            };
            args.bytes(kind).number(delay).bytes(text)
        });
        Call::function(&scripts::SETTLE, args).after(&scripts::TYPES, Args::of(&self.group))
    }

    fn reply(&self, value: Value) -> Replied<Reply<Vec<Verdict>>> {
        let verdict = |code: &u8| match code {
            1 => Ok(Verdict::Settled),
            2 => Ok(Verdict::AlreadySettled),
            3 => Ok(Verdict::Stale),
            _ => Err(wire::unexpected("settle")),
        };
        wire::coded(value, |mut parts| parts.bytes()?.iter().map(verdict).collect())
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<Vec<Verdict>>> {
        state.by_reader(&self.group, self.reader, |group, log, me| {
            let mut settle = |settlement: &Settlement| {
                let delivery = settlement.delivery;
                let verdict = group.state_of(delivery, me);
                if verdict == Verdict::Settled {
                    match &settlement.outcome {
                        Outcome::Done => group.finish(delivery.id),
                        Outcome::Retry { delay_ms, error } => group.wait(now, delivery, *delay_ms, Some(error)),
                        Outcome::Snooze { delay_ms } => group.wait(now, delivery, *delay_ms, None),
                        Outcome::Dead { reason, parks_key } => group.die(now, log, delivery, reason, *parks_key),
                    }
                }
                verdict
            };
            Reply::Done(self.settlements.iter().map(&mut settle).collect())
        })
    }
}

impl Group {
    fn wait(&mut self, now: u64, delivery: Delivery, delay_ms: u64, error: Option<&Bytes>) {
        let tries = self.tries.entry(delivery.id).or_default();
        tries.outcome_at = delivery.count;
        if let Some(error) = error {
            tries.errors = tries.errors.saturating_add(1);
            tries.note(now, NoteKind::Failed, error);
        }
        self.leased.remove(&delivery.id);
        self.due.set(&delivery.id, now + delay_ms);
    }

    fn die(&mut self, now: u64, log: &Log, delivery: Delivery, reason: &Bytes, parks_key: bool) {
        let mut tries = self.tries.remove(&delivery.id).unwrap_or_default();
        tries.errors = tries.errors.saturating_add(1);
        tries.outcome_at = delivery.count;
        tries.note(now, NoteKind::Dead, reason);
        let (key, record, origin) = log.entries.get(&delivery.id).map_or_else(Default::default, |entry| {
            let origin = entry.sent_back.as_ref().map(|(_, origin)| *origin);
            (entry.key.clone(), entry.record.clone(), origin)
        });
        self.dead_last = next_id(self.dead_last, now);
        if parks_key {
            *self.parked.entry(key.clone()).or_default() += 1;
        }
        let (id, origin) = (self.dead_last, origin.unwrap_or(delivery.id));
        self.dead.insert(id, DeadLetter { id, origin, parks_key, tries: Some(tries), key, record });
        self.finish(delivery.id);
    }
}
