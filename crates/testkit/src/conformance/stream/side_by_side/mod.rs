//! The model and the scripts of streams, compared on the same random calls.

mod draw;

use super::rig::Rig;
use crate::conformance::differential::{Differential, same};
use crate::conformance::step::{self, Reply as Replied};
use anyhow::{Result, ensure};
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{
    Delivered, Delivery, ITEMS_MAX, Join, Joined, Outcome, Pause, Read, ReadDead, ReadLog, ReadStats, Reader, Reply,
    TakeOver,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// One group of each mode, and one that is never opened.
const GROUPS: [&str; 3] = ["ordered", "unordered", "missing"];
/// Deliveries, letters and readers that later calls use.
const HISTORY_MAX: usize = 12;

/// The model and the scripts of one partition.
pub struct Streams {
    model: Rig,
    redis: Rig,
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

/// A step of a stream, or an event.
type Move = step::Move<Partition>;

/// A move, and the group that it concerns.
#[derive(Clone, Debug)]
pub struct Step {
    group: usize,
    call: Move,
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
        "Attend Done",
        "Attend Missing",
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
        "Heartbeat true",
        "Heartbeat false",
        "Redrive Appended",
        "Redrive Unknown",
        "Redrive Parked",
        "Discard true",
        "Discard false",
        "Seek Done",
        "Trim Removed",
        "Trim GroupMissing",
        "Sweep Done",
        "ReadStats Done",
        "ReadLog Entry",
        "ReadDead DeadLetter",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let groups = [GroupName::new(GROUPS[0])?, GroupName::new(GROUPS[1])?, GroupName::new(GROUPS[2])?];
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
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
        let (reply, got) = self.compare(call).await?;
        self.learn(*group, call, &got);
        Ok(reply)
    }

    async fn check(&mut self) -> Result<()> {
        let (after, limit) = (EntryId::MIN, ITEMS_MAX);
        for group in &self.groups {
            self.compare(&Move::step(ReadStats { group: group.clone() })).await?;
            self.compare(&Move::step(ReadDead { group: group.clone(), after, limit })).await?;
        }
        self.compare(&Move::step(ReadLog { after, limit })).await?;
        Ok(())
    }

    /// Every entry that is still in the log can be delivered and settled. One of the two is asked: they have agreed.
    async fn finish(self) -> Result<()> {
        let rig = Rig { group: self.groups[0].clone(), ..self.model };
        rig.time.advance(10_000_000).await?;
        let resume = Pause { group: rig.group.clone(), until: Some(0) };
        let Reply::Done(()) = rig.run(&resume).await? else { return Ok(()) };
        let reader = rig.join(200).await?;
        let mut after = EntryId::MIN;
        while let Some(next) = rig.take_over(reader, after).await?.next {
            after = next;
        }
        let mut entries = rig.take_over(reader, EntryId::MIN).await?.entries;
        // A read that skips entries of other groups may return none of the later ones.
        while !entries.is_empty() || rig.stats().await?.unread.is_some() {
            for delivered in &entries {
                rig.settle(reader, crate::conformance::stream::delivery(delivered), Outcome::Done).await?;
            }
            entries = rig.read(reader, 100).await?;
        }
        let stats = rig.stats().await?;
        ensure!(stats.unread.is_none(), "{stats:?}");
        Ok(())
    }
}

impl Streams {
    /// Makes a call on both; returns the reply, which must be the same, with the name of its call, and that of Redis.
    async fn compare(&self, call: &Move) -> Result<(String, Replied)> {
        let expected = call.make(&self.model.time, &self.model.streams, &self.model.partition).await?;
        let got = call.make(&self.redis.time, &self.redis.streams, &self.redis.partition).await?;
        let (model, scripts) = (shown(&self.model, call, &expected).await?, shown(&self.redis, call, &got).await?);
        Ok((same(call, &model, &scripts)?, got))
    }

    fn learn(&mut self, group: usize, call: &Move, got: &Replied) {
        let seen = &mut self.seen[group];
        if let Some((_, Reply::Done(Joined::Granted { reader, .. }))) = call.played::<Join>(got) {
            seen.readers.push(*reader);
        }
        if let Some((call, Reply::Done(read))) = call.played::<Read>(got) {
            seen.delivered(call.reader, &read.entries);
        }
        if let Some((call, Reply::Done(taken))) = call.played::<TakeOver>(got) {
            seen.delivered(call.reader, &taken.entries);
        }
        if let Some((_, letters)) = call.played::<ReadDead>(got) {
            seen.letters.extend(letters.iter().map(|letter| letter.id));
        }
        if let Some((_, entries)) = call.played::<ReadLog>(got) {
            seen.ids.extend(entries.iter().map(|entry| entry.id));
        }
        forget(&mut seen.readers, 3);
        forget(&mut seen.deliveries, HISTORY_MAX);
        forget(&mut seen.letters, HISTORY_MAX);
        forget(&mut seen.ids, HISTORY_MAX);
    }
}

impl Seen {
    fn delivered(&mut self, reader: Reader, entries: &[Delivered]) {
        self.deliveries.extend(entries.iter().map(|delivered| (reader, super::delivery(delivered))));
    }
}

/// The text of a reply. Redis does not always know the number of unread entries; where it does, it is that of the log.
async fn shown(rig: &Rig, call: &Move, reply: &Replied) -> Result<String> {
    let Some((_, Reply::Done(stats))) = call.played::<ReadStats>(reply) else { return Ok(reply.text.clone()) };
    let mut stats = stats.clone();
    if let Some(unread) = stats.unread_entries.take() {
        let entries = rig.run(&ReadLog { after: stats.position, limit: ITEMS_MAX }).await?;
        ensure!(entries.len() as u64 == unread.min(ITEMS_MAX as u64), "{unread} unread: {stats:?}");
    }
    Ok(format!("{:?}", Reply::Done(stats)))
}

fn forget<T>(of: &mut Vec<T>, limit: usize) {
    of.drain(..of.len().saturating_sub(limit));
}
