//! The model and the scripts of streams, compared on the same random calls.

mod call;
mod draw;

use super::rig::Rig;
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, ensure};
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{
    Append, Delivered, Delivery, GroupSpec, Heartbeat, Outcome, Position, Reader, Reply, Settlement, StreamSteps, Trim,
};
use evenkeel_protocol::stream::{MemoryStream, RedisStream};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// One group of each mode, and one that is never opened.
const GROUPS: [&str; 3] = ["ordered", "unordered", "missing"];
/// Deliveries, letters and readers that later calls use.
const HISTORY_MAX: usize = 12;

/// The model and the scripts of one partition.
pub struct Streams {
    model: Rig<MemoryStream>,
    redis: Rig<RedisStream>,
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
    Attend(u8, u64),
    Leave(Reader),
    TakeOver(Reader, EntryId, usize),
    Read(Reader, usize, u64),
    Settle(Reader, Vec<Settlement>),
    Heartbeat(Reader, u64, Vec<Heartbeat>),
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
        "Stats Done",
        "Entries Entry",
        "Dead DeadLetter",
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
        let rig = Rig { group: self.groups[0].clone(), ..self.model };
        rig.time.advance(10_000_000).await?;
        let Reply::Done(_) = rig.streams.pause(&rig.partition, &rig.group, Some(0)).await? else { return Ok(()) };
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
    fn learn(&mut self, group: usize, call: &Call, answer: Answer) {
        let seen = &mut self.seen[group];
        seen.readers.extend(answer.reader);
        if let Call::Read(reader, ..) | Call::TakeOver(reader, ..) = call {
            seen.deliveries.extend(
                answer.delivered.iter().map(|delivered| (*reader, crate::conformance::stream::delivery(delivered))),
            );
        }
        seen.letters.extend(answer.letters);
        seen.ids.extend(answer.ids);
        forget(&mut seen.readers, 3);
        forget(&mut seen.deliveries, HISTORY_MAX);
        forget(&mut seen.letters, HISTORY_MAX);
        forget(&mut seen.ids, HISTORY_MAX);
    }
}

fn forget<T>(of: &mut Vec<T>, limit: usize) {
    of.drain(..of.len().saturating_sub(limit));
}
