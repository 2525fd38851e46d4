//! The life that is cut at every point: every step of the queue, most of them in more than one situation.

use super::process::Process;
use crate::conformance::queue::rig::{Consumer, job};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::job::{JobSpec, Priority, Retention, Retries, Unique, UniqueKey};
use evenkeel_protocol::queue::steps::{
    Delivered, Forget, Limits, List, NewJob, Outcome, Pause, Put, PutChange, ReadJobs, ReadStats, Receipt, Rescheduled,
    Resume, Revoked, SetLimits, State, Tick, When,
};

/// Longer than the scenario: ended jobs leave a completion record, so that their end can be seen.
const WINDOW_MS: u64 = 86_400_000;

/// All of it.
pub(super) async fn play(process: &mut Process<'_>) -> Result<()> {
    let mut consumer = Consumer::default();
    senders(process).await?;
    outcomes(process, &mut consumer).await?;
    letters(process, &mut consumer).await?;
    lease_expiries(process, &mut consumer).await?;
    retries_exhausted(process, &mut consumer).await?;
    operators(process, &mut consumer).await
}

fn named(name: &str) -> NewJob {
    let mut job = job(name);
    job.spec.retention = Retention::AfterEnd(WINDOW_MS);
    job
}

fn id(name: &str) -> JobId {
    named(name).id
}

fn with(name: &str, change: impl FnOnce(&mut JobSpec)) -> NewJob {
    let mut job = named(name);
    change(&mut job.spec);
    job
}

fn receipts(deliveries: &[Delivered]) -> Vec<Receipt> {
    deliveries.iter().map(|delivered| delivered.receipt).collect()
}

fn failed() -> Outcome {
    Outcome::Failed { retry_ms: 1_000, error: Bytes::from_static(b"no route to host") }
}

fn no_use() -> Outcome {
    Outcome::Dead { reason: Bytes::from_static(b"no such customer") }
}

/// Enqueue one, many, again, with a unique key; move, edit and revoke what waits.
async fn senders(process: &mut Process<'_>) -> Result<()> {
    let later = NewJob { when: When::In(5_000), ..named("later") };
    let moved = NewJob { when: When::In(7_000), ..named("moved") };
    process.enqueue(&[later.clone(), moved.clone(), named("unwanted")]).await?;
    process.enqueue(std::slice::from_ref(&later)).await?;
    let key = UniqueKey::new(b"key");
    let unique = Some(Unique { key, window_ms: WINDOW_MS });
    process.enqueue(&[with("holder", |spec| spec.unique = unique)]).await?;
    process.enqueue(&[with("rival", |spec| spec.unique = unique)]).await?;
    let changed = process.reschedule(moved.id, Some(When::In(60_000)), Some(Bytes::from_static(b"edited"))).await?;
    ensure!(changed == Rescheduled::Changed, "{changed:?}");
    process.reschedule(later.id, Some(When::In(0)), None).await?;
    for name in ["moved", "unwanted", "holder"] {
        let revoked = process.revoke(id(name)).await?;
        ensure!(revoked == Revoked::Revoked, "{name}: {revoked:?}");
    }
    process.enqueue(&[with("heir", |spec| spec.unique = unique)]).await?;
    Ok(())
}

/// Every way a delivery ends, alone and in one call with a claim.
async fn outcomes(process: &mut Process<'_>, consumer: &mut Consumer) -> Result<()> {
    let first = process.claim(consumer, 2).await?;
    ensure!(first.len() == 2, "{} deliveries", first.len());
    process.heartbeat(consumer, &receipts(&first)).await?;
    ensure!(process.progress(first[0].receipt).await?, "progress of a delivery that is not current");
    process.end(consumer, receipts(&first).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    let revoked = process.revoke(first[0].receipt.id).await?;
    ensure!(matches!(revoked, Revoked::Ended(_)), "{revoked:?}");

    let names = ["a", "b", "c", "d"];
    let jobs: Vec<NewJob> = names.iter().map(|name| with(name, |spec| spec.retries = Retries::Limited(1))).collect();
    process.enqueue(&jobs).await?;
    let taken = process.claim(consumer, 4).await?;
    process.heartbeat(consumer, &receipts(&taken)).await?;
    let [a, b, c, d] = receipts(&taken).try_into().ok().context("four deliveries")?;
    let mut call = consumer.call(2);
    call.settlements = vec![(a, Outcome::Done), (b, failed())];
    process.settle(&call).await?;
    let outcomes = vec![(c, Outcome::Snoozed { after_ms: 500 }), (d, Outcome::Released)];
    process.end(consumer, outcomes).await?;
    let taken = process.claim(consumer, 2).await?;
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    process.time.advance(1_000).await?;
    let taken = process.claim(consumer, 2).await?;
    let outcome = |receipt: Receipt| if receipt.id == b.id { failed() } else { Outcome::Done };
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, outcome(receipt))).collect()).await?;
    Ok(())
}

/// Dead letters: one that ran out of retries and one that is no use; both sent back, once however often that is asked.
async fn letters(process: &mut Process<'_>, consumer: &mut Consumer) -> Result<()> {
    process.enqueue(&[named("e")]).await?;
    let taken = process.claim(consumer, 1).await?;
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, no_use())).collect()).await?;
    let dead = [id("b"), id("e")];
    for _ in 0..2 {
        let redriven = process.redrive(b'r', &dead).await?;
        ensure!(redriven.taken == 2, "{redriven:?}");
    }
    let taken = process.claim(consumer, 2).await?;
    ensure!(taken.len() == 2, "{} deliveries", taken.len());
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    Ok(())
}

/// Expired leases: before the start, after it, and of jobs that were revoked or rescheduled meanwhile.
async fn lease_expiries(process: &mut Process<'_>, consumer: &mut Consumer) -> Result<()> {
    let mut silent = Consumer::default();
    process.enqueue(&[named("f"), named("g"), named("h"), named("i")]).await?;
    let taken = process.claim(&mut silent, 4).await?;
    let [f, g, h, i] = receipts(&taken).try_into().ok().context("four deliveries")?;
    process.heartbeat(&silent, &[f]).await?;
    let running = process.revoke(g.id).await?;
    ensure!(running == Revoked::Running, "{running:?}");
    process.time.advance(31_000).await?;
    let revoked = process.revoke(h.id).await?;
    ensure!(revoked == Revoked::RevokedAfterLeaseExpiry, "{revoked:?}");
    process.reschedule(i.id, Some(When::In(0)), None).await?;
    process.rescue(&[f.id, g.id]).await?;
    let late = process.end(&mut silent, vec![(f, Outcome::Done), (h, Outcome::Done)]).await?;
    ensure!(late.iter().all(|verdict| *verdict == evenkeel_protocol::queue::steps::Verdict::Lost), "{late:?}");
    process.time.advance(1_000).await?;
    for _ in 0..2 {
        let taken = process.claim(consumer, 3).await?;
        process.heartbeat(consumer, &receipts(&taken)).await?;
        process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    }
    Ok(())
}

/// What a unit of work writes: a job, a newer one, an older one that comes late, a withdrawal. What a schedule writes: its ticks.
async fn retries_exhausted(process: &mut Process<'_>, consumer: &mut Consumer) -> Result<()> {
    let at = process.time.now();
    let first = Tick { schedule: [5; 16], seen: None, last: at, jobs: vec![named("tick 1")] };
    process.tick(&first).await?;
    process.tick(&Tick { seen: Some(at), last: at + 1, jobs: vec![named("tick 2")], ..first }).await?;
    let taken = process.claim(consumer, 2).await?;
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    process.put(named("p"), 1).await?;
    process.put(with("p", |spec| spec.body = Bytes::from_static(b"newer")), 3).await?;
    process.put(named("p"), 2).await?;
    process.put(NewJob { when: When::In(60_000), ..named("q") }, 1).await?;
    let change = PutChange::Withdraw(Retention::UntilForgotten);
    process.withdraw(Put { id: id("q"), version: 2, change }).await?;
    process.ask(&Forget(vec![id("q")])).await?;
    let taken = process.claim(consumer, 1).await?;
    process.end(consumer, receipts(&taken).into_iter().map(|receipt| (receipt, Outcome::Done)).collect()).await?;
    Ok(())
}

/// A pause, limits, a purge, a deletion, and everything that only reads.
async fn operators(process: &mut Process<'_>, consumer: &mut Consumer) -> Result<()> {
    process.ask(&Pause(None)).await?;
    process.enqueue(&[named("r"), named("s")]).await?;
    let taken = process.claim(consumer, 2).await?;
    ensure!(taken.is_empty(), "a paused shard gave {} jobs", taken.len());
    process.ask(&Resume).await?;
    let limits = Limits { jobs_max: Some(2), bytes_max: None };
    process.ask(&SetLimits(limits)).await?;
    process.enqueue(&[named("too many")]).await?;
    process.ask(&SetLimits(Limits::default())).await?;
    let taken = process.claim(consumer, 2).await?;
    let [r, s] = receipts(&taken).try_into().ok().context("two deliveries")?;
    process.end(consumer, vec![(r, no_use()), (s, Outcome::Done)]).await?;
    process.delete(r.id).await?;
    process.enqueue(&[with("t", |spec| spec.priority = Priority::Low)]).await?;
    process.purge(State::Waiting(Priority::Low), &[id("t")]).await?;
    process.ask(&ReadJobs(vec![r.id])).await?;
    process.ask(&List::first(State::Dead, 10)).await?;
    process.ask(&ReadStats).await?;
    Ok(())
}
