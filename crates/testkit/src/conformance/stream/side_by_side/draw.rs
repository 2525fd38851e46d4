//! Which calls are made, at random.

use super::{Move, Streams};
use crate::conformance::stream::rig::consumer;
use bytes::Bytes;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Append, Attend, Delivery, Discard, GroupSpec, Heartbeat, Join, Leave, Mode, NewEntry, Open, Outcome, Pause,
    Position, Read, ReadDead, ReadLog, ReadStats, Reader, Redrive, Running, Seek, Sequenced, Settle, Settlement, Sweep,
    TakeOver, Trim,
};
use rand::Rng;
use rand::seq::IndexedRandom;

const CONSUMERS: u8 = 3;
const KEYS: [&str; 4] = ["", "a", "b", "c"];

impl Streams {
    /// A call worth making.
    pub(super) fn next(&mut self, of: usize) -> Move {
        let (group, reader) = (self.groups[of].clone(), self.reader(of));
        let chosen = self.random.random_range(0..100);
        match chosen {
            0..=7 => Move::Advance(self.random.random_range(1..500)),
            8..=9 => Move::Advance(self.random.random_range(5_000..40_000)),
            10 => Move::SetBack(self.random.random_range(1..20_000)),
            11..=12 => Move::step(self.opening(of)),
            13..=27 => Move::step(self.append()),
            28..=35 => Move::step(self.join(of)),
            36 => Move::step(Leave { group, reader }),
            37 => {
                let consumer = consumer(self.random.random_range(1..=CONSUMERS));
                Move::step(Attend { group, consumer, lease_ms: self.random.random_range(0..3) * 10_000 })
            }
            38..=42 => {
                let (after, limit) = (self.id(of), self.random.random_range(1..6));
                Move::step(TakeOver { group, reader, after, limit })
            }
            43..=61 => {
                let (limit, lease_ms) = (self.random.random_range(1..8), self.random.random_range(1..30_000));
                Move::step(Read { group, reader, limit, lease_ms })
            }
            62..=81 => Move::step(self.settle(of)),
            82..=86 => Move::step(self.heartbeat(of)),
            _ => self.operate(of, reader),
        }
    }

    fn operate(&mut self, of: usize, reader: Reader) -> Move {
        let group = self.groups[of].clone();
        match self.random.random_range(0..28) {
            0..=3 => Move::step(Redrive { group, letters: vec![self.letter(of), self.letter(of)] }),
            4..=6 => {
                let reader = self.random.random_bool(0.5).then_some(reader);
                Move::step(Discard { group, reader, letters: vec![self.letter(of)] })
            }
            7 => {
                let to = if self.random.random_bool(0.3) { Position::End } else { Position::After(self.id(of)) };
                Move::step(Seek { group, to })
            }
            8 => {
                let until = match self.random.random_range(0..4) {
                    0 => None,
                    1 => Some(self.model.time.now() + 2_000),
                    _ => Some(0),
                };
                Move::step(Pause { group, until })
            }
            9 => Move::step(Pause { group, until: Some(0) }),
            10..=13 => Move::step(Trim {
                groups: self.groups[..self.random.random_range(0..4)].to_vec(),
                retain_ms: self.random.random_range(0..60_000),
                limit: self.random.random_range(1..20),
            }),
            14..=16 => Move::step(Sweep { group, silent_ms: self.random.random_range(0..40_000) }),
            17..=20 => Move::step(ReadStats { group }),
            21..=22 => Move::step(ReadLog { after: self.id(of), limit: self.random.random_range(1..20) }),
            _ => Move::step(ReadDead { group, after: EntryId::MIN, limit: self.random.random_range(1..20) }),
        }
    }

    fn opening(&mut self, of: usize) -> Open {
        let mode = if (of == 0) == self.random.random_bool(0.9) { Mode::Partition } else { Mode::Entry };
        let position = if self.random.random_bool(0.5) { Position::End } else { Position::After(EntryId::MIN) };
        let groups = vec![GroupSpec { name: self.groups[of.min(1)].clone(), position, mode }];
        let last = if self.random.random_bool(0.1) { EntryId::at(self.model.time.now() + 5_000) } else { EntryId::MIN };
        Open { groups, last }
    }

    fn append(&mut self) -> Append {
        let count = self.random.random_range(1..4);
        let entries = (0..count).map(|_| self.entry()).collect();
        let entries_max = self.random.random_bool(0.1).then(|| self.random.random_range(0..60));
        Append { entries, entries_max, producer_window_ms: 60_000 }
    }

    fn entry(&mut self) -> NewEntry {
        let key = KEYS[self.random.random_range(0..KEYS.len())].into();
        let record = Bytes::from(vec![b'r'; self.random.random_range(0..4)]);
        let producer = self.random.random_range(0..6_usize);
        let sequenced = self.sequences.get_mut(producer).map(|last| {
            let (previous, sequence) = match self.random.random_range(0..10) {
                0 => (*last, *last + 2),
                1 => (last.saturating_sub(2), (*last).max(1)),
                _ => (*last, *last + 1),
            };
            *last = sequence.max(*last);
            Sequenced { producer: consumer(100 + u8::try_from(producer).unwrap_or(0)), sequence, previous }
        });
        NewEntry { key, record, sequenced }
    }

    fn join(&mut self, of: usize) -> Join {
        let fence_floor = if self.random.random_bool(0.05) { (self.model.time.now() + 9) * 1_000 } else { 0 };
        let consumer = consumer(self.random.random_range(1..=CONSUMERS));
        Join { group: self.groups[of].clone(), consumer, lease_ms: self.random.random_range(1..30_000), fence_floor }
    }

    /// A reader of this group, or now and then of another one.
    fn reader(&mut self, group: usize) -> Reader {
        let group = if self.random.random_bool(0.02) { 1 - group.min(1) } else { group };
        let readers = &self.seen[group].readers;
        let latest = readers.last().filter(|_| self.random.random_bool(0.8));
        let reader = latest.or_else(|| readers.choose(&mut self.random));
        reader.copied().unwrap_or(Reader { consumer: consumer(1), fence: 0, epoch: 1 })
    }

    fn id(&mut self, group: usize) -> EntryId {
        let ids = self.seen[group].ids.choose(&mut self.random).copied();
        ids.filter(|_| self.random.random_bool(0.6)).unwrap_or(EntryId::MIN)
    }

    fn letter(&mut self, group: usize) -> EntryId {
        self.seen[group].letters.choose(&mut self.random).copied().unwrap_or(EntryId::at(1))
    }

    /// Deliveries of one reader.
    fn deliveries(&mut self, group: usize) -> (Reader, Vec<Delivery>) {
        let Some((reader, _)) = self.seen[group].deliveries.choose(&mut self.random).copied() else {
            return (self.reader(group), Vec::new());
        };
        let all = self.seen[group].deliveries.iter().filter(|(of, _)| *of == reader).map(|(_, delivery)| *delivery);
        let all: Vec<Delivery> = all.filter(|_| self.random.random_bool(0.6)).collect();
        (reader, all)
    }

    fn settle(&mut self, of: usize) -> Settle {
        let (reader, deliveries) = self.deliveries(of);
        let settlements = deliveries.into_iter().map(|delivery| {
            let text = Bytes::from(vec![b'e'; self.random.random_range(0..4)]);
            let outcome = match self.random.random_range(0..10) {
                0..=3 => Outcome::Done,
                4..=6 => Outcome::Retry { delay_ms: self.random.random_range(0..2_000), error: text },
                7 => Outcome::Snooze { delay_ms: self.random.random_range(0..500) },
                _ => Outcome::Dead { reason: text, parks_key: self.random.random_bool(0.5) },
            };
            Settlement { delivery, outcome }
        });
        Settle { group: self.groups[of].clone(), reader, settlements: settlements.collect() }
    }

    fn heartbeat(&mut self, of: usize) -> Heartbeat {
        let (reader, deliveries) = self.deliveries(of);
        let running = deliveries.into_iter().map(|delivery| Running { delivery, alone: self.random.random_bool(0.4) });
        let deliveries = running.collect();
        let lease_ms = self.random.random_range(1..30_000);
        Heartbeat { group: self.groups[of].clone(), reader, lease_ms, deliveries }
    }
}
