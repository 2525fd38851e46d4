//! Which calls are made, at random.

use super::{Call, Streams};
use crate::conformance::stream::rig::consumer;
use bytes::Bytes;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Append, Delivery, GroupSpec, Heartbeat, Mode, NewEntry, Outcome, Position, Reader, Sequenced, Settlement, Trim,
};
use rand::Rng;
use rand::seq::IndexedRandom;

const CONSUMERS: u8 = 3;
const KEYS: [&str; 4] = ["", "a", "b", "c"];

impl Streams {
    /// A call worth making.
    pub(super) fn next(&mut self, group: usize) -> Call {
        let reader = self.reader(group);
        let chosen = self.random.random_range(0..100);
        match chosen {
            0..=7 => Call::Advance(self.random.random_range(1..500)),
            8..=9 => Call::Advance(self.random.random_range(5_000..40_000)),
            10 => Call::SetBack(self.random.random_range(1..20_000)),
            11..=12 => self.opening(group),
            13..=27 => self.append(),
            28..=35 => self.join(),
            36 => Call::Leave(reader),
            37 => Call::Attend(self.random.random_range(1..=CONSUMERS), self.random.random_range(0..3) * 10_000),
            38..=42 => Call::TakeOver(reader, self.id(group), self.random.random_range(1..6)),
            43..=61 => Call::Read(reader, self.random.random_range(1..8), self.random.random_range(1..30_000)),
            62..=81 => self.settle(group),
            82..=86 => self.heartbeat(group),
            _ => self.operate(group, reader),
        }
    }

    fn operate(&mut self, group: usize, reader: Reader) -> Call {
        match self.random.random_range(0..28) {
            0..=3 => Call::Redrive(vec![self.letter(group), self.letter(group)]),
            4..=6 => Call::Discard(self.random.random_bool(0.5).then_some(reader), vec![self.letter(group)]),
            7 => Call::Seek(if self.random.random_bool(0.3) { Position::End } else { Position::After(self.id(group)) }),
            8 => Call::Pause(match self.random.random_range(0..4) {
                0 => None,
                1 => Some(self.model.time.now() + 2_000),
                _ => Some(0),
            }),
            9 => Call::Pause(Some(0)),
            10..=13 => Call::Trim(Trim {
                groups: self.groups[..self.random.random_range(0..4)].to_vec(),
                retain_ms: self.random.random_range(0..60_000),
                limit: self.random.random_range(1..20),
            }),
            14..=16 => Call::Sweep(self.random.random_range(0..40_000)),
            17..=20 => Call::Stats,
            21..=22 => Call::Entries(self.id(group), self.random.random_range(1..20)),
            _ => Call::Dead(EntryId::MIN, self.random.random_range(1..20)),
        }
    }

    fn opening(&mut self, group: usize) -> Call {
        let mode = if (group == 0) == self.random.random_bool(0.9) { Mode::Partition } else { Mode::Entry };
        let position = if self.random.random_bool(0.5) { Position::End } else { Position::After(EntryId::MIN) };
        let specs = vec![GroupSpec { name: self.groups[group.min(1)].clone(), position, mode }];
        let last = if self.random.random_bool(0.1) { EntryId::at(self.model.time.now() + 5_000) } else { EntryId::MIN };
        Call::Open(specs, last)
    }

    fn append(&mut self) -> Call {
        let count = self.random.random_range(1..4);
        let entries = (0..count).map(|_| self.entry()).collect();
        let entries_max = self.random.random_bool(0.1).then(|| self.random.random_range(0..60));
        Call::Append(Append { entries, entries_max, producer_window_ms: 60_000 })
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

    fn join(&mut self) -> Call {
        let floor = if self.random.random_bool(0.05) { (self.model.time.now() + 9) * 1_000 } else { 0 };
        Call::Join(self.random.random_range(1..=CONSUMERS), self.random.random_range(1..30_000), floor)
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

    fn settle(&mut self, group: usize) -> Call {
        let (reader, deliveries) = self.deliveries(group);
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
        let settlements = settlements.collect();
        Call::Settle(reader, settlements)
    }

    fn heartbeat(&mut self, group: usize) -> Call {
        let (reader, deliveries) = self.deliveries(group);
        let heartbeats =
            deliveries.into_iter().map(|delivery| Heartbeat { delivery, alone: self.random.random_bool(0.4) });
        let heartbeats = heartbeats.collect();
        Call::Heartbeat(reader, self.random.random_range(1..30_000), heartbeats)
    }
}
