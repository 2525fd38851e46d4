//! A topic that is spread over more shards: a job of another shard is rejected, sent there, received once, and removed here.

use super::rig::{Consumer, Rig, job};
use anyhow::{Context, Result, bail};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::grow::{
    Close, DropReceived, Inherited, Item, ReadLeaving, Receive, ScanIds, SendItems, SendOutcome, Transfer,
};
use evenkeel_protocol::queue::job::{CompletionRecord, End, JobId, JobSpec, Priority, Retention, Unique, UniqueKey};
use evenkeel_protocol::queue::steps::{
    Enqueue, Enqueued, Found, Limits, NewJob, Outcome, Pause, Purge, Put, PutAnswer, PutChange, Puts, ReadStats,
    Receipt, Revoke, Revoked, SetLimits, SettleAndClaim, Settled, Shard, State, Tick, Ticked, When,
};

const WAITING: State = State::Waiting(Priority::Normal);

/// A job that shard `of` of two keeps. Names have up to 15 bytes.
fn kept_by(of: u8, name: &str) -> NewJob {
    let mut kept = job(name);
    kept.id.0[15] = of;
    kept
}

/// The second shard of the rig's topic.
fn other(rig: &Rig) -> Shard {
    let tag = rig.shard.tag().trim_matches(['{', '}']);
    let prefix = tag.split(':').next().unwrap_or_default();
    Shard::new(prefix, "mail", 1)
}

async fn close(rig: &Rig) -> Result<Inherited> {
    Ok(rig.run(&Close { shards: 2, before: 1, inherits: None }).await?)
}

/// Both shards know that there are two.
async fn grown(rig: &Rig) -> Result<()> {
    let inherits = Some(close(rig).await?);
    rig.queue.run(&other(rig), &Close { shards: 2, before: 1, inherits }).await?;
    Ok(())
}

async fn send_items(rig: &Rig, item: Item) -> Result<SendOutcome> {
    rig.run(&SendItems(vec![item])).await?.first().copied().context("no answer")
}

async fn leaving(rig: &Rig) -> Result<Vec<Transfer>> {
    Ok(rig.run(&ReadLeaving { to: 1, limit: 100 }).await?)
}

/// Takes everything that is on its way to its shard, and drops it here.
async fn carry(rig: &Rig) -> Result<()> {
    let transfers = leaving(rig).await?;
    let last = transfers.last().map(|transfer| transfer.sequence);
    let taken = rig.queue.run(&other(rig), &Receive { from: 0, transfers }).await?;
    assert_eq!(Some(taken), last);
    assert_eq!(rig.run(&DropReceived { to: 1, sequence: taken }).await?, 0);
    assert!(leaving(rig).await?.is_empty());
    Ok(())
}

async fn there(rig: &Rig, id: JobId) -> Result<Option<Found>> {
    Ok(rig.queue.job(&other(rig), id).await?)
}

/// Two shards that both take an id in run its job twice.
pub async fn closed_shard_rejects_jobs_of_another_shard(rig: &Rig) -> Result<()> {
    let (known, new, own) = (kept_by(1, "known"), kept_by(1, "new"), kept_by(0, "own"));
    let schedule = |of: u8| kept_by(of, "nightly").id.0;
    let tick = |of, seen| Tick { schedule: schedule(of), seen, last: seen.unwrap_or(0) + 100, jobs: Vec::new() };
    rig.given(std::slice::from_ref(&known)).await?;
    assert_eq!(rig.run(&tick(1, None)).await?, Ticked::Moved);
    close(rig).await?;

    assert_eq!(rig.enqueue(new.clone()).await?, Enqueued::Elsewhere);
    assert_eq!(rig.enqueue(known.clone()).await?, Enqueued::Duplicate, "what it has, it knows");
    assert_eq!(rig.enqueue(own.clone()).await?, Enqueued::Created);
    let put = |id| Put { id, version: 1, change: PutChange::Job(When::In(0), Box::new(known.spec.clone())) };
    assert_eq!(rig.run(&Puts(vec![put(new.id)])).await?, [PutAnswer::Elsewhere]);
    assert_eq!(rig.run(&Puts(vec![put(known.id)])).await?, [PutAnswer::Applied]);
    // A unique key with an id is looked up in the job's shard: with two shards that is not one place any more.
    let mut unique = kept_by(0, "unique");
    unique.spec.unique = Some(Unique { key: UniqueKey::new(b"key"), window_ms: 60_000 });
    assert_eq!(rig.enqueue(unique).await?, Enqueued::Elsewhere);
    // A schedule whose last tick is here continues here until it is sent to its new shard.
    assert_eq!(rig.run(&tick(1, Some(100))).await?, Ticked::Moved);
    assert_eq!(rig.run(&tick(0, None)).await?, Ticked::Moved);
    assert_eq!(send_items(rig, Item::Schedule(schedule(1))).await?, SendOutcome::Sent);
    assert_eq!(rig.run(&tick(1, Some(200))).await?, Ticked::OtherShard);
    grown(rig).await?;
    carry(rig).await?;
    assert_eq!(rig.queue.run(&other(rig), &tick(1, Some(200))).await?, Ticked::Moved, "with its last tick");
    assert_eq!(rig.enqueue(new).await?, Enqueued::Elsewhere);
    Ok(())
}

/// A move that reads, writes and then deletes loses what changes in between, and shows the job twice meanwhile.
// shows: spec/queue.md
pub async fn migrating_job_is_in_no_shard_until_received(rig: &Rig) -> Result<()> {
    let (waiting, dead, leased, own) = (kept_by(1, "c"), kept_by(1, "a"), kept_by(1, "b"), kept_by(0, "own"));
    let mut consumer = Consumer::default();
    rig.given(std::slice::from_ref(&dead)).await?;
    rig.kill(&mut consumer).await?;
    rig.given(std::slice::from_ref(&leased)).await?;
    let running = rig.claim_one(&mut consumer).await?;
    let later = NewJob { when: When::In(5_000), ..waiting.clone() };
    rig.given(&[later, NewJob { when: When::In(7_000), ..own.clone() }]).await?;
    let before = [rig.queue.job(&rig.shard, waiting.id).await?, rig.queue.job(&rig.shard, dead.id).await?];
    grown(rig).await?;

    let items = [waiting.id, dead.id, leased.id, own.id, kept_by(1, "never").id].map(Item::Job);
    let given = rig.run(&SendItems(items.to_vec())).await?;
    assert_eq!(given, [SendOutcome::Sent, SendOutcome::Sent, SendOutcome::Leased, SendOutcome::No, SendOutcome::No]);
    assert_eq!(rig.run(&SendItems(items[..2].to_vec())).await?, [SendOutcome::No; 2], "once");
    assert_eq!(rig.queue.job(&rig.shard, waiting.id).await?, None);
    assert_eq!(rig.run(&Revoke(vec![waiting.id])).await?, [Revoked::Unknown]);
    assert_eq!(rig.enqueue(waiting.clone()).await?, Enqueued::Elsewhere);
    assert_eq!(there(rig, waiting.id).await?, None);
    carry(rig).await?;
    assert_eq!([there(rig, waiting.id).await?, there(rig, dead.id).await?], before, "as it was, to the byte");

    // A running job continues here, and moves once it waits again.
    assert!(rig.heartbeat(&consumer, running.receipt, true).await?);
    rig.fail(&mut consumer, running.receipt, 1_000).await?;
    assert_eq!(send_items(rig, Item::Job(leased.id)).await?, SendOutcome::Sent);
    carry(rig).await?;
    let Some(Found::Live { job, .. }) = there(rig, leased.id).await? else { bail!("it is lost") };
    assert_eq!((job.errors, job.fence), (1, running.receipt.fence));
    let (here, there) = (rig.run(&ReadStats).await?, rig.queue.run(&other(rig), &ReadStats).await?);
    assert_eq!((here.waiting(), here.leased, here.dead), (1, 0, 0));
    assert_eq!((there.waiting(), there.leased, there.dead), (2, 0, 1));
    assert!(there.markers > 0, "waiting consumers there are notified");
    rig.run(&Purge { state: WAITING, limit: 10 }).await?;
    assert_eq!(rig.run(&ReadStats).await?.bytes, 0, "bytes move with their records");
    let (ids, cursor) = rig.run(&ScanIds { cursor: 0 }).await?;
    assert!(cursor != 0 || ids.is_empty(), "{ids:?}");
    Ok(())
}

/// A migration that was paused after it had removed a job from a shard restored the job after it had run.
// shows: spec/queue.md
pub async fn late_migration_batch_is_rejected(rig: &Rig) -> Result<()> {
    rig.given(&[kept_by(1, "a"), kept_by(1, "b"), kept_by(1, "c")]).await?;
    grown(rig).await?;
    for name in ["a", "b", "c"] {
        send_items(rig, Item::Job(kept_by(1, name).id)).await?;
    }
    let late = leaving(rig).await?;
    assert_eq!(late.iter().map(|transfer| transfer.sequence).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        rig.queue.run(&other(rig), &Receive { from: 0, transfers: late[1..].to_vec() }).await?,
        0,
        "the first one is missing"
    );
    assert_eq!(there(rig, kept_by(1, "b").id).await?, None);
    assert_eq!(rig.queue.run(&other(rig), &Receive { from: 0, transfers: late[..2].to_vec() }).await?, 2);
    assert_eq!(rig.run(&DropReceived { to: 1, sequence: 2 }).await?, 1);
    carry(rig).await?;

    let there_now = There { queue: &rig.queue, shard: other(rig) };
    assert_eq!(there_now.all_done().await?, 3);
    assert_eq!(rig.queue.run(&other(rig), &Receive { from: 0, transfers: late }).await?, 3);
    assert_eq!(there_now.all_done().await?, 0, "a done job is not restored");
    assert_eq!(rig.run(&DropReceived { to: 1, sequence: 3 }).await?, 0);
    Ok(())
}

/// Fifty migrating bodies came in one reply, however large they were: it was given up, and requested again, forever.
// shows: hazard F7a
pub async fn migration_batch_carries_at_most_four_mebibytes(rig: &Rig) -> Result<()> {
    const KIB: usize = 1 << 10;
    let sizes =
        [("a", 900), ("b", 900), ("c", 1_000), ("d", 1_000), ("e", 1_000), ("f", 5_000), ("g", 1), ("h", 1_100)];
    let sized = |(name, size): &(&str, usize)| {
        let named = kept_by(1, name);
        NewJob { spec: JobSpec { body: vec![7; size * KIB].into(), ..named.spec }, ..named }
    };
    for one in &sizes {
        rig.given(&[sized(one)]).await?;
    }
    grown(rig).await?;
    for (name, _) in sizes {
        assert_eq!(send_items(rig, Item::Job(kept_by(1, name).id)).await?, SendOutcome::Sent);
    }
    for together in [4, 1, 1, 1, 1] {
        let transfers = leaving(rig).await?;
        assert_eq!(transfers.len(), together);
        let taken = rig.queue.run(&other(rig), &Receive { from: 0, transfers }).await?;
        rig.run(&DropReceived { to: 1, sequence: taken }).await?;
    }
    for one in &sizes {
        let Some(Found::Live { job, .. }) = there(rig, sized(one).id).await? else { bail!("it is lost") };
        assert!(job.spec.body == sized(one).spec.body);
    }
    Ok(())
}

/// A consumer's calls to the other shard.
struct There<'a> {
    queue: &'a QueueBackend,
    shard: Shard,
}

impl There<'_> {
    async fn claim(&self, consumer: &mut Consumer) -> Result<Receipt> {
        self.claimed(consumer, 1).await?.pop().context("nothing to claim")
    }

    /// Ends all that can be claimed; how many these were.
    async fn all_done(&self) -> Result<usize> {
        let mut consumer = Consumer::default();
        let receipts = self.claimed(&mut consumer, 100).await?;
        let settlements = receipts.iter().map(|receipt| (*receipt, Outcome::Done)).collect();
        let call = SettleAndClaim { settlements, ..consumer.call(0) };
        self.queue.run(&self.shard, &call).await?;
        Ok(receipts.len())
    }

    async fn claimed(&self, consumer: &mut Consumer, limit: usize) -> Result<Vec<Receipt>> {
        match self.queue.run(&self.shard, &consumer.call(limit)).await? {
            Settled::Done(claimed) => Ok(claimed.deliveries.iter().map(|delivered| delivered.receipt).collect()),
            Settled::Stale => bail!("the call is stale"),
        }
    }
}

/// An id whose completion record is lost in the migration runs again when it is sent again.
pub async fn completion_records_move_with_their_remaining_ttl(rig: &Rig) -> Result<()> {
    let mut named = kept_by(1, "named");
    named.spec.retention = Retention::AfterEnd(60_000);
    let mut born = kept_by(1, "born");
    born.spec.retention = Retention::UntilForgotten;
    let mut short = kept_by(1, "short");
    short.spec.retention = Retention::AfterEnd(1_000);
    rig.given(&[named.clone(), born.clone(), short.clone()]).await?;
    let mut consumer = Consumer::default();
    for delivered in rig.claim(&mut consumer, 3).await? {
        rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?;
    }
    let ended_at = rig.time.now();
    grown(rig).await?;
    let items = [named.id, born.id, short.id].map(Item::Job);
    assert_eq!(rig.run(&SendItems(items.to_vec())).await?, [SendOutcome::Sent; 3]);
    rig.time.advance(2_000).await?;
    carry(rig).await?;
    let completion = |until| Some(Found::Ended(CompletionRecord { end: End::Done, until, version: 0, ended_at }));
    assert_eq!(there(rig, named.id).await?, completion(Some(ended_at + 60_000)));
    assert_eq!(there(rig, born.id).await?, completion(None));
    assert_eq!(there(rig, short.id).await?, None, "it ran out on the way");
    assert_eq!(rig.queue.run(&other(rig), &Enqueue(vec![named])).await?, [Enqueued::Ended(End::Done)]);
    Ok(())
}

/// The new shards of a paused topic delivered its jobs, and its limit doubled.
pub async fn new_shards_inherit_the_settings(rig: &Rig) -> Result<()> {
    let limits = Limits { jobs_max: Some(5), bytes_max: None };
    rig.run(&SetLimits(limits)).await?;
    rig.run(&Pause(None)).await?;
    let inherited = close(rig).await?;
    assert_eq!(
        inherited.limits,
        Limits { jobs_max: Some(2), bytes_max: None },
        "its half, rounded down: both together keep the limit"
    );
    assert_eq!(close(rig).await?, inherited, "a repeat does not halve it again");
    grown(rig).await?;
    let paused = rig.queue.run(&other(rig), &ReadStats).await?.paused_until;
    assert_eq!(paused, Some(u64::MAX));
    for (name, expected) in [("a", Enqueued::Created), ("b", Enqueued::Created), ("c", Enqueued::Full)] {
        assert_eq!(rig.queue.run(&other(rig), &Enqueue(vec![kept_by(1, name)])).await?, [expected]);
    }
    Ok(())
}

/// A fence below one that SQL has seen is refused there.
pub async fn fences_rise_across_shards(rig: &Rig) -> Result<()> {
    rig.given(&[kept_by(1, "a")]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?.receipt;
    rig.time.set_back(60_000).await?;
    rig.settle(&mut consumer, first, Outcome::Released).await?;
    grown(rig).await?;
    send_items(rig, Item::Job(first.id)).await?;
    carry(rig).await?;
    let there = There { queue: &rig.queue, shard: other(rig) };
    let second = there.claim(&mut consumer).await?;
    assert!(second.fence > first.fence, "{} after {}", second.fence, first.fence);
    Ok(())
}
