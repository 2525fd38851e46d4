//! The model and the scripts of streams, compared on the same random calls.

use super::world::{World, consumer};
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, ensure};
use bytes::Bytes;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{
    Append, Beat, Delivered, Delivery, GroupSpec, Joined, Mode, NewEntry, Outcome, Position, Reader, Reply, Sequenced,
    Settlement, StreamSteps, Trim,
};
use evenkeel_protocol::stream::{MemoryStream, RedisStream};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const CONSUMERS: u8 = 3;
const KEYS: [&str; 4] = ["", "a", "b", "c"];
/// One group of each mode, and one that is never opened.
const GROUPS: [&str; 3] = ["ordered", "unordered", "missing"];
/// Deliveries, letters and readers that later calls use.
const REMEMBERED: usize = 12;

/// The model and the scripts of one partition.
pub struct Streams {
    model: World<MemoryStream>,
    redis: World<RedisStream>,
    groups: [GroupName; 3],
    seen: [Seen; 3],
    sequences: [u64; 3],
    random: StdRng,
}

/// What replies have shown of a group.
#[derive(Default)]
struct Seen {
    readers: Vec<Reader>,
    deliveries: Vec<(Reader, Delivery)>,
    letters: Vec<EntryId>,
    ids: Vec<EntryId>,
}

/// A call for one of the groups.
#[derive(Clone, Debug)]
pub struct Step {
    group: usize,
    call: Call,
}

/// One call, or an event that happens to both.
#[derive(Clone, Debug)]
enum Call {
    Advance(u64),
    SetBack(u64),
    Open(Vec<GroupSpec>, EntryId),
    Append(Append),
    Join(u8, u64, u64),
    Leave(Reader),
    TakeOver(Reader, EntryId, usize),
    Read(Reader, usize, u64),
    Settle(Reader, Vec<Settlement>),
    Beat(Reader, u64, Vec<Beat>),
    Redrive(Vec<EntryId>),
    Discard(Option<Reader>, Vec<EntryId>),
    Seek(Position),
    Pause(Option<u64>),
    Trim(Trim),
    Sweep(u64),
    Stats,
    Entries(EntryId, usize),
    Dead(EntryId, usize),
}

/// The text of a reply, and what it has shown.
#[derive(Default)]
struct Answer {
    text: String,
    reader: Option<Reader>,
    delivered: Vec<Delivered>,
    letters: Vec<EntryId>,
    ids: Vec<EntryId>,
}

impl Differential for Streams {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "Open Created",
        "Open Existed",
        "Open Refused",
        "Append None",
        "Append Appended",
        "Append Duplicate",
        "Append OutOfOrder",
        "Append Full",
        "Join Granted",
        "Join Taken",
        "Join Missing",
        "Leave Done",
        "Leave Stale",
        "TakeOver Delivered",
        "TakeOver Stale",
        "Read Delivered",
        "Read TakeOverFirst",
        "Read Stale",
        "Read OtherMode",
        "Read Missing",
        "Settle Settled",
        "Settle AlreadySettled",
        "Settle Stale",
        "Beat true",
        "Beat false",
        "Redrive Appended",
        "Redrive Unknown",
        "Redrive Parked",
        "Discard true",
        "Discard false",
        "Seek Done",
        "Trim Removed",
        "Trim GroupMissing",
        "Sweep Done",
        "Stats Done",
        "Entries Entry",
        "Dead DeadLetter",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let groups = [GroupName::new(GROUPS[0])?, GroupName::new(GROUPS[1])?, GroupName::new(GROUPS[2])?];
        let (model, redis) = (World::memory().await?, World::redis().await?);
        let (seen, sequences) = (Default::default(), [0; 3]);
        Ok(Self { model, redis, groups, seen, sequences, random: StdRng::seed_from_u64(seed) })
    }

    fn draw(&mut self) -> Step {
        let group = match self.random.random_range(0..20) {
            0..=9 => 0,
            10..=18 => 1,
            _ => 2,
        };
        Step { group, call: self.next(group) }
    }

    async fn play(&mut self, Step { group, call }: &Step) -> Result<String> {
        let name = &self.groups[*group];
        let (expected, got) = (call.make(&self.model, name).await?, call.make(&self.redis, name).await?);
        let reply = same(call, &expected.text, &got.text)?;
        self.learn(*group, call, got);
        Ok(reply)
    }

    async fn check(&mut self) -> Result<()> {
        for group in &self.groups {
            for call in [Call::Stats, Call::Entries(EntryId::MIN, 500), Call::Dead(EntryId::MIN, 500)] {
                let (expected, got) = (call.make(&self.model, group).await?, call.make(&self.redis, group).await?);
                same(&call, &expected.text, &got.text)?;
            }
        }
        Ok(())
    }

    /// Every entry that is still in the log can be delivered and settled. One of the two is asked: they have agreed.
    async fn finish(self) -> Result<()> {
        let world = World { group: self.groups[0].clone(), ..self.model };
        world.time.advance(10_000_000).await?;
        let Reply::Done(_) = world.streams.pause(&world.partition, &world.group, Some(0)).await? else { return Ok(()) };
        let reader = world.join(200).await?;
        let mut after = EntryId::MIN;
        while let Some(next) = world.take_over(reader, after).await?.next {
            after = next;
        }
        let mut entries = world.take_over(reader, EntryId::MIN).await?.entries;
        // A read that skips entries of other groups may return none of the later ones.
        while !entries.is_empty() || world.stats().await?.unread.is_some() {
            for delivered in &entries {
                world.settle(reader, super::delivery(delivered), Outcome::Done).await?;
            }
            entries = world.read(reader, 100).await?;
        }
        let stats = world.stats().await?;
        ensure!(stats.unread.is_none(), "{stats:?}");
        Ok(())
    }
}

impl Streams {
    fn learn(&mut self, group: usize, call: &Call, answer: Answer) {
        let seen = &mut self.seen[group];
        seen.readers.extend(answer.reader);
        if let Call::Read(reader, ..) | Call::TakeOver(reader, ..) = call {
            seen.deliveries.extend(answer.delivered.iter().map(|delivered| (*reader, super::delivery(delivered))));
        }
        seen.letters.extend(answer.letters);
        seen.ids.extend(answer.ids);
        forget(&mut seen.readers, 3);
        forget(&mut seen.deliveries, REMEMBERED);
        forget(&mut seen.letters, REMEMBERED);
        forget(&mut seen.ids, REMEMBERED);
    }

    /// A call worth making.
    fn next(&mut self, group: usize) -> Call {
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
            37..=42 => Call::TakeOver(reader, self.id(group), self.random.random_range(1..6)),
            43..=61 => Call::Read(reader, self.random.random_range(1..8), self.random.random_range(1..30_000)),
            62..=81 => self.settle(group),
            82..=86 => self.beat(group),
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
                keep_ms: self.random.random_range(0..60_000),
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

    fn beat(&mut self, group: usize) -> Call {
        let (reader, deliveries) = self.deliveries(group);
        let beats = deliveries.into_iter().map(|delivery| Beat { delivery, alone: self.random.random_bool(0.4) });
        let beats = beats.collect();
        Call::Beat(reader, self.random.random_range(1..30_000), beats)
    }
}

fn forget<T>(of: &mut Vec<T>, limit: usize) {
    of.drain(..of.len().saturating_sub(limit));
}

impl Call {
    async fn make<S: StreamSteps>(&self, world: &World<S>, group: &GroupName) -> Result<Answer> {
        let (streams, partition) = (&world.streams, &world.partition);
        let mut answer = Answer::default();
        answer.text = match self {
            Self::Advance(ms) => format!("{:?}", world.time.advance(*ms).await.map(|()| world.time.now())?),
            Self::SetBack(ms) => format!("{:?}", world.time.set_back(*ms).await.map(|()| world.time.now())?),
            Self::Open(specs, last) => format!("{:?}", streams.open(partition, specs, *last).await?),
            Self::Append(call) => format!("{:?}", streams.append(partition, call).await?),
            Self::Join(number, lease, floor) => {
                let reply = streams.join(partition, group, consumer(*number), *lease, *floor).await?;
                if let Reply::Done(Joined::Granted { reader, .. }) = &reply {
                    answer.reader = Some(*reader);
                }
                format!("{reply:?}")
            }
            Self::Leave(reader) => format!("{:?}", streams.leave(partition, group, *reader).await?),
            Self::TakeOver(reader, after, limit) => {
                let reply = streams.take_over(partition, group, *reader, *after, *limit).await?;
                if let Reply::Done(taken) = &reply {
                    answer.delivered.clone_from(&taken.entries);
                }
                format!("{reply:?}")
            }
            Self::Read(reader, want, lease) => {
                let reply = streams.read(partition, group, *reader, *want, *lease).await?;
                if let Reply::Done(read) = &reply {
                    answer.delivered.clone_from(&read.entries);
                }
                format!("{reply:?}")
            }
            Self::Settle(reader, settlements) => {
                format!("{:?}", streams.settle(partition, group, *reader, settlements).await?)
            }
            Self::Beat(reader, lease, beats) => {
                format!("{:?}", streams.beat(partition, group, *reader, *lease, beats).await?)
            }
            _ => return self.operate(world, group).await,
        };
        Ok(answer)
    }

    async fn operate<S: StreamSteps>(&self, world: &World<S>, group: &GroupName) -> Result<Answer> {
        let (streams, partition) = (&world.streams, &world.partition);
        let mut answer = Answer::default();
        answer.text = match self {
            Self::Redrive(letters) => format!("{:?}", streams.redrive(partition, group, letters).await?),
            Self::Discard(reader, letters) => {
                format!("{:?}", streams.discard(partition, group, *reader, letters).await?)
            }
            Self::Seek(to) => format!("{:?}", streams.seek(partition, group, *to).await?),
            Self::Pause(until) => format!("{:?}", streams.pause(partition, group, *until).await?),
            Self::Trim(trim) => format!("{:?}", streams.trim(partition, trim).await?),
            Self::Sweep(silent) => format!("{:?}", streams.sweep(partition, group, *silent).await?),
            Self::Entries(after, limit) => {
                let entries = streams.entries(partition, *after, *limit).await?;
                answer.ids = entries.iter().map(|entry| entry.id).collect();
                format!("{entries:?}")
            }
            Self::Dead(after, limit) => {
                let letters = streams.dead(partition, group, *after, *limit).await?;
                answer.letters = letters.iter().map(|letter| letter.id).collect();
                format!("{letters:?}")
            }
            _ => format!("{:?}", streams.stats(partition, group).await?),
        };
        Ok(answer)
    }
}
