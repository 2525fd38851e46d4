//! Ticks of schedules.

use super::rig::{Consumer, Rig, job, plain};
use anyhow::Result;
use evenkeel_protocol::queue::steps::{NewJob, Outcome, Tick, Ticked, Verdict, When};

/// Schedulers in several processes enqueued each tick several times (asynq #395, #554, #653): the slow one enqueued it again after
/// the job was done.
pub async fn each_tick_is_enqueued_once(rig: &Rig) -> Result<()> {
    let at = rig.time.now();
    let tick = |seen, last, name: &str| Tick {
        schedule: [5; 16],
        seen,
        last,
        jobs: vec![NewJob { when: When::At(last), ..job(name) }],
    };
    let first = tick(None, at, "tick 1");
    assert_eq!(rig.run(&first).await?, Ticked::Moved);
    let mut consumer = Consumer::default();
    let delivered = rig.claim_one(&mut consumer).await?;
    assert_eq!(plain(&delivered), "tick 1");
    assert_eq!(rig.settle(&mut consumer, delivered.receipt, Outcome::Done).await?, Verdict::Settled);

    // Another process that knows no more than the first did; the first one again, whose answer was lost.
    assert_eq!(rig.run(&first).await?, Ticked::Elsewhere(Some(at)));
    assert!(rig.claimable(10).await?.is_empty());

    assert_eq!(rig.run(&tick(Some(at), at + 60_000, "tick 2")).await?, Ticked::Moved);
    let late = rig.run(&tick(Some(at), at + 90_000, "tick 3")).await?;
    assert_eq!(late, Ticked::Elsewhere(Some(at + 60_000)));
    let other = Tick { schedule: [6; 16], ..tick(Some(at), at, "other") };
    assert_eq!(rig.run(&other).await?, Ticked::Elsewhere(None));
    assert_eq!(rig.next().await?.due, Some(at + 60_000));
    rig.time.advance(90_000).await?;
    assert_eq!(rig.claimable(10).await?, ["tick 2"]);
    Ok(())
}
