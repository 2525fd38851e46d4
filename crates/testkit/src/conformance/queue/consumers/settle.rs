//! How deliveries end.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{ERRORS_KEPT_MAX, End, ErrorClass, JobSpec, Note, Priority, Retention, Retries};
use evenkeel_protocol::queue::record::encoded_len;
use evenkeel_protocol::queue::steps::{
    Found, NewJob, Outcome, Progress, ReadStats, Receipt, SettleAndClaim, State, Verdict,
};

const NORMAL: Option<State> = Some(State::Waiting(Priority::Normal));

fn with_retries(name: &str, retries: Retries) -> NewJob {
    NewJob { spec: JobSpec { retries, ..job(name).spec }, ..job(name) }
}

/// (A4, asynq) A worker that was silent past its lease came back: its late nack put a finished job into the list of running
/// ones again, its late ack removed the next worker's claim. An outdated settlement changes nothing.
// shows: Q3, spec/queue.md
pub async fn late_settlement_changes_nothing(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let (mut slow, mut next) = (Consumer::default(), Consumer::default());
    let expired = rig.claim_one(&mut slow).await?;
    rig.expire_leases().await?;
    assert_eq!(rig.settle(&mut slow, expired.receipt, Outcome::Done).await?, Verdict::Lost, "it waits");
    let current = rig.claim_one(&mut next).await?;
    for outcome in [Outcome::Done, Outcome::Released, Outcome::Dead { reason: Bytes::new() }] {
        assert_eq!(rig.settle(&mut slow, expired.receipt, outcome).await?, Verdict::Lost, "it runs elsewhere");
    }
    assert!(!rig.heartbeat(&slow, expired.receipt, true).await?);
    assert_eq!(rig.settle(&mut next, current.receipt, Outcome::Done).await?, Verdict::Settled);
    assert_eq!(rig.fail(&mut slow, expired.receipt, 0).await?, Verdict::Lost, "it is done");
    assert_eq!(rig.queue.job(&rig.shard, expired.receipt.id).await?, None);
    let stats = rig.run(&ReadStats).await?;
    assert_eq!((stats.leased, stats.waiting, stats.dead, stats.bytes), (0, [0; 4], 0, 0));
    Ok(())
}

/// A duplicate ack arrived after its job was done, enqueued anew and claimed by another worker: in the same millisecond, so
/// that even the fences are equal.
// shows: Q3, spec/queue.md
pub async fn repeated_ack_does_not_end_the_next_job_with_that_id(rig: &Rig) -> Result<()> {
    let (mut first, mut second) = (Consumer::default(), Consumer::default());
    rig.given(&[job("a")]).await?;
    let done = rig.claim_one(&mut first).await?;
    assert_eq!(rig.settle(&mut first, done.receipt, Outcome::Done).await?, Verdict::Settled);
    rig.given(&[job("a")]).await?;
    let running = rig.claim_one(&mut second).await?;
    assert_eq!(running.receipt.fence, done.receipt.fence);
    assert_eq!(rig.settle(&mut first, done.receipt, Outcome::Done).await?, Verdict::Lost);
    assert!(!rig.heartbeat(&first, done.receipt, false).await?);
    assert_eq!(rig.settle(&mut second, running.receipt, Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// Two processes restored from one snapshot draw the same random bits. Fences distinguish their deliveries.
// shows: Q3
pub async fn fence_distinguishes_deliveries_with_equal_tokens(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    rig.expire_leases().await?;
    let mut twin = Consumer::default();
    let call = SettleAndClaim { token: first.receipt.token, ..twin.call(1) };
    let second = rig.settle_and_claim(&call).await?.deliveries[0].receipt;
    assert_eq!(rig.settle(&mut consumer, first.receipt, Outcome::Done).await?, Verdict::Lost);
    assert!(!rig.heartbeat(&consumer, first.receipt, false).await?);
    assert_eq!(rig.settle(&mut twin, second, Outcome::Done).await?, Verdict::Settled);
    Ok(())
}

/// (A11) "Dead" meant deleted. A dead letter is whole: body, errors, attempts.
// shows: Q8
pub async fn failed_job_is_retried_and_then_dead(rig: &Rig) -> Result<()> {
    rig.given(&[with_retries("a", Retries::Limited(1))]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.fail(&mut consumer, first.receipt, 5_000).await?, Verdict::Settled);
    rig.time.advance(4_999).await?;
    assert!(rig.claim(&mut consumer, 1).await?.is_empty());
    rig.time.advance(1).await?;
    let second = rig.claim_one(&mut consumer).await?;
    assert_eq!(second.job.clone()?.errors, 1);
    assert_eq!(rig.fail(&mut consumer, second.receipt, 5_000).await?, Verdict::Died);
    rig.time.advance(365 * 24 * 3_600_000).await?;
    assert_eq!(rig.state(first.receipt.id).await?, Some(State::Dead));
    assert!(rig.claimable(10).await?.is_empty());
    let dead = rig.live(first.receipt.id).await?;
    assert_eq!((&dead.spec.body[..], dead.errors), (&b"a"[..], 2));
    let errors: Vec<_> = dead.error_notes().map(|error| (error.class, error.attempt, &error.text[..])).collect();
    let text = &b"no route to host"[..];
    assert_eq!(errors, [(ErrorClass::Failed, 1, text), (ErrorClass::Failed, 2, text)]);
    Ok(())
}

/// With unlimited retries a job is retried until it succeeds.
pub async fn job_with_unlimited_retries_never_dies(rig: &Rig) -> Result<()> {
    rig.given(&[with_retries("a", Retries::Unlimited)]).await?;
    let mut consumer = Consumer::default();
    for _ in 0..40 {
        let delivered = rig.claim_one(&mut consumer).await?;
        assert_eq!(rig.fail(&mut consumer, delivered.receipt, 0).await?, Verdict::Settled);
    }
    assert_eq!(rig.live(job("a").id).await?.errors, 40);
    Ok(())
}

/// A job that no operator needs is counted and removed.
pub async fn exhausted_job_is_discarded_if_configured(rig: &Rig) -> Result<()> {
    let spec = JobSpec {
        retries: Retries::Limited(0),
        discard_exhausted: true,
        retention: Retention::AfterEnd(1_000),
        ..job("a").spec
    };
    rig.given(&[NewJob { spec, ..job("a") }]).await?;
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.fail(&mut consumer, delivered.receipt, 0).await?, Verdict::Discarded);
    let found = rig.queue.job(&rig.shard, delivered.receipt.id).await?;
    assert!(matches!(found, Some(Found::Ended(completion)) if completion.end == End::Discarded), "{found:?}");
    assert_eq!(rig.run(&ReadStats).await?.totals.discarded, 1);
    Ok(())
}

/// A handler that returns "dead" asks for an operator's attention, whatever happens to jobs that are merely out of retries.
// shows: Q6
pub async fn dead_job_is_kept_when_exhausted_jobs_are_discarded(rig: &Rig) -> Result<()> {
    rig.given(&[NewJob { spec: JobSpec { discard_exhausted: true, ..job("a").spec }, ..job("a") }]).await?;
    let delivered = rig.kill(&mut Consumer::default()).await?;
    let dead = rig.live(delivered.receipt.id).await?;
    let errors: Vec<_> = dead.error_notes().map(|error| (error.class, &error.text[..])).collect();
    assert_eq!(errors, [(ErrorClass::Dead, &b"no such customer"[..])]);
    Ok(())
}

/// (asynq #1124) A snooze is not a failed attempt.
pub async fn snooze_and_release_use_no_attempt(rig: &Rig) -> Result<()> {
    rig.given(&[with_retries("a", Retries::Limited(0))]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    let snooze = Outcome::Snoozed { after_ms: 1_000 };
    assert_eq!(rig.settle(&mut consumer, first.receipt, snooze).await?, Verdict::Settled);
    assert_eq!(rig.next().await?.due, Some(rig.time.now() + 1_000));
    rig.time.advance(1_000).await?;
    let second = rig.claim_one(&mut consumer).await?;
    assert_eq!(rig.settle(&mut consumer, second.receipt, Outcome::Released).await?, Verdict::Settled);
    assert_eq!(rig.state(first.receipt.id).await?, NORMAL);
    let third = rig.claim_one(&mut consumer).await?;
    let job = third.job?;
    assert_eq!((job.errors, job.spec.notes.len()), (0, 0));
    // The same delivery twice in one call: the second finds nothing to settle.
    let settlements = vec![(third.receipt, Outcome::Done), (third.receipt, Outcome::Released)];
    let call = SettleAndClaim { settlements, ..consumer.call(0) };
    assert_eq!(rig.settle_and_claim(&call).await?.verdicts, [Verdict::Settled, Verdict::Lost]);
    Ok(())
}

/// A history that grows with every attempt of an endlessly retried job would fill Redis.
pub async fn newest_errors_are_kept(rig: &Rig) -> Result<()> {
    rig.given(&[with_retries("a", Retries::Unlimited)]).await?;
    let mut consumer = Consumer::default();
    let attempts = ERRORS_KEPT_MAX + 3;
    for attempt in 1..=attempts {
        let receipt: Receipt = rig.claim_one(&mut consumer).await?.receipt;
        let error = Bytes::from(format!("{attempt:0attempt$}"));
        rig.settle(&mut consumer, receipt, Outcome::Failed { retry_ms: 0, error }).await?;
    }
    let kept = rig.live(job("a").id).await?;
    let numbers: Vec<usize> = kept.error_notes().map(|error| usize::from(error.attempt)).collect();
    assert_eq!(numbers, (4..=attempts).collect::<Vec<_>>());
    assert!(kept.error_notes().all(|error| error.text.len() == usize::from(error.attempt)));
    assert_eq!(&kept.spec.body[..], b"a");
    Ok(())
}

/// Progress that a handler reports after its lease has expired must not overwrite the progress of the next delivery.
// shows: queue::Delivery::progress
pub async fn progress_is_stored_for_the_current_delivery_only(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let mut consumer = Consumer::default();
    let first = rig.claim_one(&mut consumer).await?;
    let id = first.receipt.id;
    let words = |text: &'static str| Bytes::from_static(text.as_bytes());
    for text in ["half", "more than half", "all", "all"] {
        assert!(rig.run(&Progress { receipt: first.receipt, progress: words(text) }).await?);
        let job = rig.live(id).await?;
        assert_eq!(job.spec.notes, [Note::Progress(words(text))]);
        assert_eq!(&job.spec.body[..], b"a");
        let bytes = u64::try_from(encoded_len(&job))?;
        assert_eq!(rig.run(&ReadStats).await?.bytes, bytes, "as many bytes as there are");
    }
    rig.fail(&mut consumer, first.receipt, 0).await?;
    let late = rig.run(&Progress { receipt: first.receipt, progress: words("late") }).await?;
    assert!(!late);
    let second = rig.claim_one(&mut consumer).await?;
    assert!(!rig.run(&Progress { receipt: first.receipt, progress: words("late") }).await?);
    let notes = second.job?.spec.notes;
    assert!(notes.contains(&Note::Progress(words("all"))) && notes.len() == 2, "{notes:?}");
    Ok(())
}
