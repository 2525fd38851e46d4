//! Another program has put a value of another type under a key of a partition: a call fails before it writes anything, and once the key is
//! deleted, no entry is lost.

use crate::foreign::{Neighbor, is_rejected};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::step as steps;
use evenkeel_protocol::stream::StreamBackend;
use evenkeel_protocol::stream::error::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{
    Delivery, Discard, GroupSpec, Heartbeat, Join, Leave, Mode, NewEntry, Open, Outcome, Pause, Position, Read,
    ReadDead, Reader, Redrive, Running, Seek, Sequenced, Settle, Settlement, Sweep, TakeOver, Trim,
};
use testkit::conformance::stream::{LEASE_MS, Rig, appending, delivery, entry};

/// Every step that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Append,
    Join,
    Leave,
    Pause,
    Seek,
    Trim,
    TakeOver,
    Read,
    Settle,
    Heartbeat,
    Redrive,
    Discard,
    Sweep,
}

/// The keys of a group that its consumers' calls need.
const GROUP: &[&str] = &[
    "log",
    "g:billing",
    "g:billing:due",
    "g:billing:leased",
    "g:billing:tries",
    "g:billing:seen",
    "g:billing:dead",
    "g:billing:parked",
];

/// The keys that each step needs.
const NEEDS: &[(Step, &[&str])] = &[
    (Step::Open, &["log", "g:billing", "g:audit"]),
    (Step::Append, &["log", "producers", "active"]),
    (Step::Join, &["g:billing"]),
    (Step::Leave, &["g:billing"]),
    (Step::Pause, &["g:billing"]),
    (Step::Seek, &["log", "g:billing"]),
    (Step::Trim, &["log"]),
    (Step::TakeOver, GROUP),
    (Step::Read, GROUP),
    (Step::Settle, GROUP),
    (Step::Heartbeat, GROUP),
    (Step::Redrive, GROUP),
    (Step::Discard, GROUP),
    (Step::Sweep, GROUP),
];

/// The command that makes our value under this key.
fn made_by(name: &str) -> &'static str {
    match name.rsplit(':').next() {
        Some("log" | "dead") => "XADD",
        Some("due" | "leased" | "seen" | "active") => "ZADD",
        _ => "HSET",
    }
}

/// A group with an entry that is delayed, one that is leased, dead letters of which one parks its key, and one unread entry.
struct Scene {
    partition: Partition,
    reader: Reader,
    leased: Delivery,
    letters: [EntryId; 2],
}

fn dead(parks_key: bool) -> Outcome {
    Outcome::Dead { reason: Bytes::from_static(b"no such account"), parks_key }
}

fn numbered(sequence: u64) -> NewEntry {
    let producer = Token::from([9; 16]);
    NewEntry { sequenced: Some(Sequenced { producer, sequence, previous: sequence - 1 }), ..entry("a", "numbered") }
}

impl Scene {
    async fn open(rig: &mut Rig, prefix: &str, number: usize) -> Result<Self> {
        rig.partition = Partition::new(prefix, &format!("case{number}"), 0)?;
        rig.open(Mode::Entry).await?;
        rig.append(&["a", "b", "c", "d", "e"]).await?;
        rig.run(&appending(vec![numbered(1)])).await?;
        let reader = rig.join(1).await?;
        let read = rig.read(reader, 4).await?;
        let [a, b, c, d] = read.as_slice() else { anyhow::bail!("four deliveries: {read:?}") };
        rig.settle(reader, delivery(a), dead(true)).await?;
        rig.settle(reader, delivery(b), dead(false)).await?;
        let error = Bytes::from_static(b"no reply");
        rig.settle(reader, delivery(c), Outcome::Retry { delay_ms: 0, error }).await?;
        let letters = rig.run(&ReadDead { group: rig.group.clone(), after: EntryId::MIN, limit: 9 }).await?;
        let [one, two] = letters.as_slice() else { anyhow::bail!("two letters: {letters:?}") };
        // So that a written time differs from the one before.
        rig.time.advance(1).await?;
        Ok(Self { partition: rig.partition.clone(), reader, leased: delivery(d), letters: [one.id, two.id] })
    }

    async fn run<S: steps::Step<Partition>>(&self, rig: &Rig, step: S) -> Result<(), StreamError> {
        rig.streams.run(&self.partition, &step).await.map(drop)
    }

    async fn take(&self, rig: &Rig, step: Step) -> Result<(), StreamError> {
        let (group, reader, letters) = (rig.group.clone(), self.reader, self.letters.to_vec());
        match step {
            Step::Open => {
                let spec = |name: GroupName| GroupSpec { name, position: Position::End, mode: Mode::Entry };
                let groups = vec![spec(GroupName::new("audit")?), spec(group)];
                self.run(rig, Open { groups, last: EntryId::MIN }).await
            }
            Step::Append => self.run(rig, appending(vec![entry("a", "plain"), numbered(2)])).await,
            Step::Join => {
                let consumer = Token::from([2; 16]);
                self.run(rig, Join { group, consumer, lease_ms: LEASE_MS, fence_floor: 0 }).await
            }
            Step::Leave => self.run(rig, Leave { group, reader }).await,
            Step::Pause => self.run(rig, Pause { group, until: None }).await,
            Step::Seek => self.run(rig, Seek { group, to: Position::After(EntryId::MIN) }).await,
            Step::Trim => self.run(rig, Trim { groups: vec![group], retain_ms: 0, limit: 500 }).await,
            Step::TakeOver => self.run(rig, TakeOver { group, reader, after: EntryId::MIN, limit: 100 }).await,
            Step::Read => self.run(rig, Read { group, reader, limit: 9, lease_ms: LEASE_MS }).await,
            Step::Settle => {
                let settlements = vec![Settlement { delivery: self.leased, outcome: dead(true) }];
                self.run(rig, Settle { group, reader, settlements }).await
            }
            Step::Heartbeat => {
                let deliveries = vec![Running { delivery: self.leased, alone: true }];
                self.run(rig, Heartbeat { group, reader, lease_ms: 2 * LEASE_MS, deliveries }).await
            }
            Step::Redrive => self.run(rig, Redrive { group, letters }).await,
            Step::Discard => self.run(rig, Discard { group, reader: None, letters }).await,
            Step::Sweep => self.run(rig, Sweep { group, silent_ms: 0 }).await,
        }
    }
}

/// How many entries there are in each state.
async fn counts(rig: &Rig) -> Result<[u64; 6]> {
    let stats = rig.stats().await?;
    let unread = u64::from(stats.unread.is_some());
    Ok([stats.length, unread, stats.pending, stats.delayed, stats.dead, stats.parked_keys])
}

/// A read gave entries to a consumer without a lease: if that consumer died, they were never read again. A dead letter was deleted, and its key
/// stayed parked.
// shows: hazard A8a
#[tokio::test]
async fn foreign_type_under_any_key_of_a_partition_loses_no_entry() -> Result<()> {
    let mut rig = Rig::redis().await?;
    let link = rig.link.clone().context("the rig is on Redis")?;
    let prefix = rig.partition.tag().trim_start_matches('{').split(':').next().context("a prefix")?.to_owned();
    let (mut scenes, mut cases) = (0, 0);
    for (step, names) in NEEDS {
        scenes += 1;
        let scene = Scene::open(&mut rig, &prefix, scenes).await?;
        scene.take(&rig, *step).await.with_context(|| format!("{step:?}"))?;
        let expected = counts(&rig).await?;
        for name in *names {
            for kind in Neighbor::types() {
                scenes += 1;
                let what = || format!("{step:?} with type {kind} under {name}");
                let scene = Scene::open(&mut rig, &prefix, scenes).await?;
                let neighbor = Neighbor::new(&link, scene.partition.tag());
                let key = format!("{}:{name}", scene.partition.tag()).into_bytes();
                if !neighbor.occupy(&key, made_by(name), kind).await? {
                    continue;
                }
                cases += 1;
                let before = neighbor.all().await?;
                // A process that has just connected.
                rig.streams = StreamBackend::redis(link.clone());
                let reply = scene.take(&rig, *step).await;
                is_rejected(reply, |error| if let StreamError::Link(error) = error { Some(error) } else { None })
                    .with_context(what)?;
                ensure!(neighbor.all().await? == before, "{}: something was written", what());
                neighbor.give_back(&key).await?;
                scene.take(&rig, *step).await.with_context(what)?;
                let found = counts(&rig).await?;
                ensure!(found == expected, "{}: {found:?}, and {expected:?} without it", what());
            }
        }
    }
    assert!(cases > 300, "{cases} cases");
    Ok(())
}
