//! Another program has put a value of another type under a key of a shard. A call that needs an index fails before it writes anything,
//! and once the key is deleted, nothing is lost. A record that was replaced is gone, and stops nothing else.

use crate::foreign::{Neighbor, is_rejected};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::queue::QueueError;
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::grow::{Close, DropReceived, Item, ReadLeaving, Receive, SendItems, Transfer};
use evenkeel_protocol::queue::job::{JobId, JobSpec, Unique, UniqueKey};
use evenkeel_protocol::queue::steps::{
    Delete, Enqueue, Enqueued, Forget, Heartbeat, NewJob, Outcome, Pause, Progress, Purge, Put, PutChange, Puts,
    ReadJobs, ReadStats, Receipt, Redrive, Report, Reschedule, Reschedules, Rescue, Resume, Revoke, Revoked,
    SettleAndClaim, Shard, State, Tick, Verdict, When,
};
use testkit::conformance::queue::{Consumer, Rig, invariants, job, plain};
use testkit::servers::{Redis, RedisOptions};

/// Every step that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Enqueue,
    Put,
    Tick,
    SettleAndClaim,
    Heartbeat,
    Progress,
    Rescue,
    Revoke,
    Reschedule,
    Redrive,
    Forget,
    Delete,
    Purge,
    Resume,
    Close,
    Give,
    Receive,
    DropReceived,
}

const INDEXES: &[&str] = &["due:0", "due:1", "due:2", "due:3", "leased", "dead"];

/// The keys that each step needs, besides those of records. All steps need `meta`.
const NEEDS: &[(Step, bool, &[&str])] = &[
    (Step::Enqueue, true, &["wake"]),
    (Step::Put, true, &["wake"]),
    (Step::Tick, true, &["wake", "schedules"]),
    (Step::SettleAndClaim, true, &["wake", "workers", "answers"]),
    (Step::Heartbeat, false, &["leased", "workers"]),
    (Step::Progress, false, &[]),
    (Step::Rescue, true, &["wake", "workers", "answers"]),
    (Step::Revoke, true, &[]),
    (Step::Reschedule, true, &["wake"]),
    (Step::Redrive, true, &["wake", "redrive:0123456789abcdef"]),
    (Step::Forget, false, &[]),
    (Step::Delete, false, &["dead"]),
    (Step::Purge, false, &["dead"]),
    (Step::Resume, true, &["wake"]),
    (Step::Close, false, &[]),
    (Step::Give, true, &["schedules", "leaving:1"]),
    (Step::Receive, true, &["wake", "schedules"]),
    (Step::DropReceived, false, &["leaving:1"]),
];

/// The command that makes our value under this key.
fn made_by(name: &str) -> &'static str {
    match name.split(':').next() {
        Some("meta" | "answers" | "schedules" | "redrive") => "HSET",
        _ => "ZADD",
    }
}

/// A shard of two, with a job in every state.
struct Scene {
    shard: Shard,
    consumer: Consumer,
    leased: [Receipt; 2],
    received: Vec<Transfer>,
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "new", "tick"];
const SCHEDULE: [u8; 16] = [1; 16];

/// Which belongs to shard 1.
fn of_the_other(name: &str) -> NewJob {
    let mut job = job(name);
    job.id.0[15] = 1;
    job
}

fn put(id: JobId) -> Put {
    Put { id, version: 7, change: PutChange::Job(When::In(0), Box::new(JobSpec::new(Bytes::from_static(b"put")))) }
}

impl Scene {
    async fn open(rig: &mut Rig, prefix: &str, number: usize, step: Step) -> Result<Self> {
        let topic = format!("case{number}");
        let (shard, other) = (Shard::new(prefix, &topic, 0), Shard::new(prefix, &topic, 1));
        rig.shard = shard.clone();
        rig.given(&[job("a"), job("b"), job("c"), job("d"), of_the_other("e"), of_the_other("g")]).await?;
        let (mut consumer, mut undertaker) = (Consumer::default(), Consumer::default());
        let [a, b] = <[_; 2]>::try_from(rig.claim(&mut consumer, 2).await?).ok().context("two deliveries")?;
        let dead = rig.kill(&mut undertaker).await?;
        ensure!(plain(&dead) == "c");
        let tick = Tick { schedule: SCHEDULE, seen: None, last: 100, jobs: Vec::new() };
        rig.queue.run(&shard, &tick).await?;
        rig.queue.run(&other, &Enqueue(vec![job("f")])).await?;
        for shard in [&shard, &other] {
            rig.queue.run(shard, &Close { shards: 2, before: 1, inherits: None }).await?;
        }
        rig.queue.run(&other, &SendItems(vec![Item::Job(job("f").id)])).await?;
        let received = rig.queue.run(&other, &ReadLeaving { to: 0, limit: 10 }).await?;
        ensure!(received.len() == 1);
        if step == Step::DropReceived {
            rig.queue.run(&shard, &SendItems(vec![Item::Job(of_the_other("g").id)])).await?;
        }
        if step == Step::Resume {
            rig.queue.run(&shard, &Pause(None)).await?;
        }
        // So that a written time differs from the one before, and leases have expired where that matters.
        rig.time.advance(if step == Step::Rescue { 30_000 } else { 1 }).await?;
        Ok(Self { shard, consumer, leased: [a.receipt, b.receipt], received })
    }

    fn settling(&self) -> SettleAndClaim {
        let mut consumer = Consumer { worker: self.consumer.worker, ..Consumer::default() };
        consumer.sequence = self.consumer.sequence;
        let error = Bytes::from_static(b"no route");
        let failed = Outcome::Failed { retry_ms: 0, error };
        let settlements = vec![(self.leased[0], Outcome::Done), (self.leased[1], failed)];
        SettleAndClaim { settlements, ..consumer.call(1) }
    }

    async fn take(&self, queue: &QueueBackend, step: Step) -> Result<(), QueueError> {
        let (shard, ids) = (&self.shard, [job("d").id, job("c").id]);
        match step {
            Step::Enqueue => queue.run(shard, &Enqueue(vec![job("new"), job("d"), job("c"), job("a")])).await.map(drop),
            Step::Put => {
                queue.run(shard, &Puts(vec![put(job("new").id), put(job("d").id), put(job("c").id)])).await.map(drop)
            }
            Step::Tick => {
                let tick = Tick { schedule: SCHEDULE, seen: Some(100), last: 200, jobs: vec![job("tick")] };
                queue.run(shard, &tick).await.map(drop)
            }
            Step::SettleAndClaim => queue.run(shard, &self.settling()).await.map(drop),
            Step::Heartbeat => {
                let deliveries = self.leased.map(|receipt| (receipt, Report::STARTED)).to_vec();
                let heartbeat = Heartbeat { worker: self.consumer.worker, lease_ms: 60_000, deliveries };
                queue.run(shard, &heartbeat).await.map(drop)
            }
            Step::Progress => queue
                .run(shard, &Progress { receipt: self.leased[0], progress: Bytes::from_static(b"half") })
                .await
                .map(drop),
            Step::Rescue => {
                let rescue = Rescue { limit: 500, crash_max: 3, crash_delay_ms: 1_000, row_decides: false };
                queue.run(shard, &rescue).await.map(drop)
            }
            Step::Revoke => queue.run(shard, &Revoke(ids.to_vec())).await.map(drop),
            Step::Reschedule => {
                let change = |id| Reschedule { id, when: Some(When::In(5)), body: None, codec: None };
                queue.run(shard, &Reschedules(ids.map(change).to_vec())).await.map(drop)
            }
            Step::Redrive => {
                let redrive = *b"0123456789abcdef";
                let call = Redrive { redrive, filter: Bytes::new(), ids: ids.to_vec(), delay_ms: 0 };
                queue.run(shard, &call).await.map(drop)
            }
            Step::Forget => queue.run(shard, &Forget(ids.to_vec())).await.map(drop),
            Step::Delete => queue.run(shard, &Delete(ids.to_vec())).await.map(drop),
            Step::Purge => queue.run(shard, &Purge { state: State::Dead, limit: 10 }).await.map(drop),
            Step::Resume => queue.run(shard, &Resume).await,
            Step::Close => queue.run(shard, &Close { shards: 4, before: 2, inherits: None }).await.map(drop),
            Step::Give => {
                let items =
                    [Item::Job(of_the_other("e").id), Item::Schedule(SCHEDULE), Item::Job(of_the_other("g").id)];
                queue.run(shard, &SendItems(items.to_vec())).await.map(drop)
            }
            Step::Receive => queue.run(shard, &Receive { from: 1, transfers: self.received.clone() }).await.map(drop),
            Step::DropReceived => queue.run(shard, &DropReceived { to: 1, sequence: 1 }).await.map(drop),
        }
    }
}

/// Where each job is.
async fn places(rig: &Rig) -> Result<Vec<Option<State>>> {
    let mut places = Vec::new();
    for id in NAMES.map(|name| job(name).id).into_iter().chain(["e", "g"].map(|name| of_the_other(name).id)) {
        places.push(rig.state(id).await?);
    }
    Ok(places)
}

async fn own() -> Result<(Redis, Rig, Link)> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let rig = Rig::on(&redis.url(), "ek").await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    Ok((redis, rig, link))
}

/// A claim took due jobs out of their index and then failed at the index of leased ones: no worker had them, and no index.
// shows: hazard A8a
#[tokio::test]
async fn foreign_type_under_any_key_of_a_shard_loses_no_job() -> Result<()> {
    let (_redis, mut rig, link) = own().await?;
    let (mut scenes, mut cases) = (0, 0);
    for (step, indexes, others) in NEEDS {
        scenes += 1;
        let scene = Scene::open(&mut rig, "ek", scenes, *step).await?;
        scene.take(&rig.queue, *step).await.with_context(|| format!("{step:?}"))?;
        let expected = places(&rig).await?;
        let names = if *indexes { INDEXES } else { &[] };
        for name in names.iter().chain(*others).chain(&["meta"]) {
            for kind in Neighbor::types() {
                scenes += 1;
                let what = || format!("{step:?} with type {kind} under {name}");
                let scene = Scene::open(&mut rig, "ek", scenes, *step).await?;
                let neighbor = Neighbor::new(&link, scene.shard.tag());
                let key = format!("{}:{name}", scene.shard.tag()).into_bytes();
                if !neighbor.occupy(&key, made_by(name), kind).await? {
                    continue;
                }
                cases += 1;
                let before = neighbor.all().await?;
                // A process that has just connected; others check again with a rescue.
                let fresh = QueueBackend::redis(rig.queue.link().context("on Redis")?.clone());
                let reply = scene.take(&fresh, *step).await;
                is_rejected(reply, |error| if let QueueError::Link(error) = error { Some(error) } else { None })
                    .with_context(what)?;
                ensure!(neighbor.all().await? == before, "{}: something was written", what());
                neighbor.give_back(&key).await?;
                scene.take(&rig.queue, *step).await.with_context(what)?;
                ensure!(places(&rig).await? == expected, "{}: other jobs than without it", what());
                if !matches!(step, Step::Give | Step::DropReceived) {
                    invariants::check(&link, &scene.shard).await.with_context(what)?;
                }
            }
        }
    }
    assert!(cases > 500, "{cases} cases");
    Ok(())
}

/// The value appears while the program runs: its calls may do a part of their work, and a repeated call does the rest.
#[tokio::test]
async fn foreign_type_between_two_checks_loses_no_job() -> Result<()> {
    let (_redis, mut rig, link) = own().await?;
    let mut scenes = 0;
    for step in [Step::Enqueue, Step::SettleAndClaim, Step::Heartbeat] {
        let scene = Scene::open(&mut rig, "ek", scenes, step).await?;
        scenes += 1;
        scene.take(&rig.queue, step).await?;
        let expected = places(&rig).await?;
        for name in INDEXES.iter().chain(&["wake", "workers", "answers", "meta"]) {
            let what = || format!("{step:?} with a text under {name}");
            let scene = Scene::open(&mut rig, "ek", scenes, step).await?;
            scenes += 1;
            let neighbor = Neighbor::new(&link, scene.shard.tag());
            let key = format!("{}:{name}", scene.shard.tag()).into_bytes();
            neighbor.occupy(&key, made_by(name), 0).await?;
            let _ = scene.take(&rig.queue, step).await;
            neighbor.give_back(&key).await?;
            scene.take(&rig.queue, step).await.with_context(what)?;
            let found = places(&rig).await?;
            let lost = expected.iter().zip(&found).any(|(expected, found)| expected.is_some() && found.is_none());
            ensure!(!lost, "{}: {found:?}, without it {expected:?}", what());
        }
    }
    Ok(())
}

/// A claim, or a settlement, failed at a record that another program had replaced, and was repeated forever: the shard stood still.
// shows: hazard A8b
#[tokio::test]
async fn foreign_type_in_place_of_a_record_stops_no_other_job() -> Result<()> {
    let (_redis, mut rig, link) = own().await?;
    // A claim reads small records all at once, and records one by one if there may be a large one.
    for (number, largest) in (0..).zip([10, 100_000].repeat(Neighbor::types().len())) {
        let kind = number / 2;
        rig.shard = Shard::new("ek", &format!("record{number}"), 0);
        let large =
            NewJob { when: When::In(3_600_000), spec: JobSpec::new(vec![b'x'; largest].into()), ..job("large") };
        rig.given(&[job("a"), job("b"), job("c"), job("d"), job("e"), large]).await?;
        let mut consumer = Consumer::default();
        let held = rig.claim(&mut consumer, 2).await?;
        let neighbor = Neighbor::new(&link, rig.shard.tag());
        let key = |name: &str| [rig.shard.tag().as_bytes(), b":job:", &job(name).id.0[..]].concat();
        if !neighbor.occupy(&key("a"), "SET", kind).await? {
            continue;
        }
        neighbor.occupy(&key("c"), "SET", kind).await?;
        let settlements = held.iter().map(|delivered| (delivered.receipt, Outcome::Done)).collect();
        let claimed = rig.settle_and_claim(&SettleAndClaim { settlements, ..consumer.call(9) }).await?;
        assert_eq!(claimed.verdicts, [Verdict::Lost, Verdict::Settled], "type {kind}");
        assert_eq!(claimed.deliveries.iter().map(plain).collect::<Vec<_>>(), ["d", "e"], "type {kind}");
        let ids = ["a", "c", "d"].map(|name| job(name).id);
        assert_eq!(rig.run(&Revoke(ids.to_vec())).await?, [Revoked::Unknown, Revoked::Unknown, Revoked::Running]);
        let found = rig.run(&ReadJobs(ids.to_vec())).await?;
        assert!(matches!(found.as_slice(), [Ok(None), Ok(None), Ok(Some(_))]), "{found:?}");
        rig.expire_leases().await?;
        let stats = rig.run(&ReadStats).await?;
        assert_eq!((stats.totals.ghosts, stats.leased, stats.ready), (2, 0, 2), "type {kind}");
        assert_eq!(rig.run(&Puts(vec![put(job("c").id)])).await?.len(), 1);
        assert_eq!(rig.enqueue(job("a")).await?, Enqueued::Created, "it replaces the other program's value");
        rig.run(&Purge { state: State::Dead, limit: 10 }).await?;
        assert!(rig.claimable(9).await?.contains(&"a".to_owned()));
    }
    Ok(())
}

/// The jobs before it in the call were enqueued, and the call failed.
// shows: hazard A8b
#[tokio::test]
async fn foreign_type_under_a_unique_key_is_replaced() -> Result<()> {
    let (_redis, mut rig, link) = own().await?;
    for kind in Neighbor::types() {
        rig.shard = Shard::new("ek", &format!("unique{kind}"), 0);
        let unique = Unique { key: UniqueKey::new(b"one"), window_ms: 60_000 };
        let key = [rig.shard.tag().as_bytes(), b":unique:", &unique.key.0[..]].concat();
        // A text of another program is no owner, either.
        Neighbor::new(&link, rig.shard.tag()).occupy(&key, "", kind).await?;
        let with = |name: &str| {
            let mut job = job(name);
            job.spec.unique = Some(unique);
            job
        };
        let replies = rig.run(&Enqueue(vec![job("a"), with("b"), with("c")])).await?;
        let expected = [Enqueued::Created, Enqueued::Created, Enqueued::Taken(job("b").id)];
        assert_eq!(replies, expected, "type {kind}");
    }
    Ok(())
}
