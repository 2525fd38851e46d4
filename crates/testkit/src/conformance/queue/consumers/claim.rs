//! Which jobs a claim returns, and what a lost reply costs.

use crate::conformance::queue::rig::{Consumer, Rig, job, plain};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use evenkeel_protocol::queue::job::{JobId, JobSpec, Note, Priority, Retention, Retries};
use evenkeel_protocol::queue::record::Record;
use evenkeel_protocol::queue::steps::{
    Delivered, ITEMS_MAX, NewJob, Outcome, Pause, ReadPiece, ReadStats, Resume, SettleAndClaim, Settled, When,
};

fn with_priority(name: &str, priority: Priority, delay_ms: u64) -> NewJob {
    NewJob { when: When::In(delay_ms), spec: JobSpec { priority, ..job(name).spec }, ..job(name) }
}

/// Priority first, then the due time. Jobs in a ready list could not be overtaken; there is no such list.
pub async fn urgent_jobs_run_first(rig: &Rig) -> Result<()> {
    rig.given(&[
        with_priority("low", Priority::Low, 0),
        with_priority("normal 2", Priority::Normal, 20),
        with_priority("normal 1", Priority::Normal, 10),
        with_priority("high", Priority::High, 30),
    ])
    .await?;
    rig.time.advance(100).await?;
    rig.given(&[with_priority("urgent", Priority::Urgent, 0)]).await?;
    assert_eq!(rig.claimable(10).await?, ["urgent", "high", "normal 1", "normal 2", "low"]);
    Ok(())
}

/// (BullMQ) Twelve bits of a score kept the order of jobs of one millisecond: beyond 4,096 of them it broke. Here the id decides.
pub async fn jobs_due_in_one_millisecond_keep_their_order(rig: &Rig) -> Result<()> {
    let names: Vec<String> = (0..5_000).map(|number| format!("job {number:04}")).collect();
    let jobs: Vec<NewJob> = names.iter().map(|name| job(name)).collect();
    for jobs in jobs.chunks(ITEMS_MAX) {
        rig.given(jobs).await?;
    }
    let (mut consumer, mut left) = (Consumer::default(), Vec::new());
    while left.len() < names.len() {
        left.extend(rig.claim(&mut consumer, ITEMS_MAX).await?.iter().map(plain));
    }
    assert_eq!(left, names);
    Ok(())
}

/// (A7, kombu #337) Everything due was moved to one consumer at once, its deadlines ticking while ids sat in a local channel.
// shows: Q7
pub async fn claim_returns_no_more_than_requested(rig: &Rig) -> Result<()> {
    rig.given(&["a", "b", "c", "d", "e"].map(job)).await?;
    let mut consumer = Consumer::default();
    assert_eq!(rig.claim(&mut consumer, 2).await?.len(), 2);
    assert_eq!(rig.claim(&mut consumer, 0).await?.len(), 0);
    assert_eq!(rig.run(&ReadStats).await?.leased, 2);
    assert_eq!(rig.claimable(10).await?.len(), 3);
    Ok(())
}

/// While paused nothing is claimed; what runs can be settled.
pub async fn paused_topic_delivers_nothing(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let running = rig.claim_one(&mut consumer).await?;
    rig.run(&Pause(None)).await?;
    assert!(rig.claimable(10).await?.is_empty());
    assert_eq!(rig.next().await?.due, None);
    rig.settle(&mut consumer, running.receipt, Outcome::Done).await?;
    let until = rig.time.now() + 1_000;
    rig.run(&Pause(Some(until))).await?;
    assert_eq!(rig.next().await?.due, Some(until));
    rig.time.advance(1_000).await?;
    assert_eq!(rig.claimable(10).await?.len(), 1);
    rig.run(&Pause(None)).await?;
    rig.given(&[job("c")]).await?;
    rig.run(&Resume).await?;
    assert_eq!(rig.claimable(10).await?, ["c"]);
    Ok(())
}

/// (A3, asynq) When the reply of a claim was lost, the jobs were leased to no consumer until the lease expired, and an
/// attempt was used. The same sequence gets the same verdicts and the same deliveries.
// shows: Q1, spec/queue.md
pub async fn repeated_call_returns_the_same_reply(rig: &Rig) -> Result<()> {
    rig.given(&["a", "b", "c"].map(job)).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    let settlements = vec![(first.receipt, Outcome::Done)];
    let call = SettleAndClaim { settlements, ..consumer.call(2) };
    let answer = rig.settle_and_claim(&call).await?;
    rig.time.advance(10_000).await?;
    rig.given(&[job("d")]).await?;
    let again = rig.settle_and_claim(&call).await?;
    assert_eq!(again.verdicts, answer.verdicts);
    let receipts = |claimed: &evenkeel_protocol::queue::steps::Claimed| -> Vec<_> {
        claimed.deliveries.iter().map(|delivered| delivered.receipt).collect()
    };
    assert_eq!(receipts(&again), receipts(&answer));
    assert_eq!(again.deliveries.iter().map(plain).collect::<Vec<_>>(), ["b", "c"]);
    assert!(again.deliveries.iter().all(|delivered| delivered.lease_left_ms == 20_000));
    // Deliveries that are no longer held under that token are left out.
    let heartbeat = rig.heartbeat(&consumer, answer.deliveries[0].receipt, false).await?;
    assert!(heartbeat);
    rig.time.advance(20_000).await?;
    rig.rescue().await?;
    assert_eq!(receipts(&rig.settle_and_claim(&call).await?), [answer.deliveries[0].receipt]);
    Ok(())
}

/// A delayed call that arrives after the next one would settle and claim with an outdated state of its worker.
pub async fn stale_call_changes_nothing(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let delayed = consumer.call(1);
    let delivered = rig.claim_one(&mut consumer).await?;
    let delayed = SettleAndClaim { settlements: vec![(delivered.receipt, Outcome::Done)], ..delayed };
    assert_eq!(rig.run(&delayed).await?, Settled::Stale);
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.leased, stats.waiting[2], stats.totals.done), (1, 1, 0));
    Ok(())
}

/// The fence is what SQL compares. A frozen clock (or one that was set back) must not give two deliveries the same one.
// shows: Q3
pub async fn fences_rise_within_one_millisecond(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    rig.settle(&mut consumer, first.receipt, Outcome::Released).await?;
    let second = rig.claim_one(&mut consumer).await?;
    assert!(second.receipt.fence > first.receipt.fence);
    rig.time.set_back(60_000).await?;
    rig.settle(&mut consumer, second.receipt, Outcome::Snoozed { after_ms: 0 }).await?;
    let third = rig.claim_one(&mut consumer).await?;
    assert!(third.receipt.fence > second.receipt.fence);
    Ok(())
}

/// After a flush or a failover to a replica with an older clock, only SQL knows how high fences were.
// shows: Q3
pub async fn fences_exceed_those_seen_by_sql(rig: &Rig) -> Result<()> {
    rig.given(&[job("a"), job("b")]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    let seen = first.receipt.fence + 1_000_000;
    let call = SettleAndClaim { fence_floor: seen, ..consumer.call(0) };
    rig.settle_and_claim(&call).await?;
    let second = rig.claim_one(&mut Consumer::default()).await?;
    assert!(second.receipt.fence > seen, "every worker of the shard is above it");
    Ok(())
}

/// A delivery has everything that its sender set.
pub async fn job_is_delivered_as_sent(rig: &Rig) -> Result<()> {
    let spec = JobSpec {
        priority: Priority::High,
        retries: Retries::Unlimited,
        discard_exhausted: true,
        retention: Retention::FromEnqueue(1_000),
        late_ms_max: Some(77),
        body: Bytes::from((0..=255).collect::<Vec<u8>>()),
        notes: vec![
            Note::Trace(Bytes::from_static(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
            Note::Headers(Bytes::from_static(b"{}")),
            Note::Name(Bytes::from_static("Grüße/{42}".as_bytes())),
        ],
        ..job("a").spec
    };
    let sent = NewJob { when: When::In(5), spec: spec.clone(), ..job("a") };
    let enqueued_at = rig.time.now();
    rig.given(&[sent]).await?;
    rig.time.advance(7).await?;
    let delivered = rig.claim_one(&mut Consumer::default()).await?;
    assert_eq!((delivered.due_at, delivered.lease_left_ms), (enqueued_at + 5, 30_000));
    let got = delivered.job?;
    assert_eq!((got.enqueued_at, got.expires_at), (enqueued_at, Some(enqueued_at + 82)));
    assert_eq!(got.spec, spec);
    Ok(())
}

fn sized(name: &str, bytes: usize) -> NewJob {
    NewJob { spec: JobSpec { body: Bytes::from(vec![name.as_bytes()[0]; bytes]), ..job(name).spec }, ..job(name) }
}

fn ids(deliveries: &[Delivered]) -> Vec<JobId> {
    deliveries.iter().map(|delivered| delivered.receipt.id).collect()
}

/// All due jobs came in one reply, which was given up on the way and requested again, forever.
// shows: hazard F7
pub async fn claim_returns_at_most_four_mebibytes(rig: &Rig) -> Result<()> {
    const MIB: usize = 1 << 20;
    let sizes = [("a", MIB), ("b", 2 * MIB), ("c", 2 * MIB), ("d", 5 * MIB), ("e", 10), ("f", 10)];
    rig.given(&sizes.map(|(name, bytes)| sized(name, bytes))).await?;
    let mut consumer = Consumer::default();
    for expected in [&["a", "b"][..], &["c"], &["d"], &["e", "f"]] {
        let claimed = rig.claim(&mut consumer, 10).await?;
        assert_eq!(ids(&claimed), expected.iter().map(|name| job(name).id).collect::<Vec<_>>());
    }
    // A hundred small ones next to a large one are counted one by one.
    rig.given(&["g", "h"].map(|name| sized(name, 60_000))).await?;
    assert_eq!(rig.claim(&mut consumer, 100).await?.len(), 2);
    Ok(())
}

/// The holder of the delivery reads a body that is not part of the claim's reply piece by piece.
// shows: hazard F7
pub async fn large_body_is_not_returned_with_its_claim(rig: &Rig) -> Result<()> {
    let notes = vec![Note::Headers(Bytes::from_static(b"{}"))];
    let large = sized("b", 100_000);
    let large = NewJob { spec: JobSpec { notes, late_ms_max: Some(60_000), ..large.spec }, ..large };
    rig.given(&[sized("a", 60_000), large.clone()]).await?;
    let mut consumer = Consumer::default();
    let call = consumer.call(10);
    let first = rig.settle_and_claim(&call).await?.deliveries;
    let again = rig.settle_and_claim(&call).await?.deliveries;
    for deliveries in [first, again] {
        let [small, left] = &deliveries[..] else { bail!("not two deliveries") };
        assert_eq!((small.more, small.job.as_ref().map(|job| job.spec.body.len())), (None, Ok(60_000)));
        let head = left.job.as_ref().ok().context("a head")?;
        assert_eq!((head.spec.body.len(), head.spec.notes.len(), head.spec.late_ms_max), (0, 0, Some(60_000)));
        let size = left.more.context("it travelled with its claim")?;
        let mut record = Vec::new();
        while (record.len() as u64) < size {
            let piece = rig.run(&ReadPiece { id: left.receipt.id, from: record.len() as u64, bytes: 30_000 }).await?;
            assert!(!piece.is_empty() && piece.len() <= 30_000);
            record.extend_from_slice(&piece);
        }
        let Record::Live(job) = Record::decode(&record.into())? else { bail!("it has ended") };
        assert_eq!((job.token, job.fence), (Some(left.receipt.token), left.receipt.fence));
        assert!(job.spec.body == large.spec.body && job.spec.notes == large.spec.notes);
    }
    assert!(rig.run(&ReadPiece { id: job("nobody").id, from: 0, bytes: 10 }).await?.is_empty());
    Ok(())
}
