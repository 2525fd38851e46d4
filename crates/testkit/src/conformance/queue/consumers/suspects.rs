//! Jobs that may be what killed their worker: how many a process gets at once, and whose crash a crash is.

use crate::conformance::queue::rig::{Consumer, Rig, job, plain};
use anyhow::Result;
use evenkeel_protocol::queue::job::{ErrorClass, JobSpec, Retries};
use evenkeel_protocol::queue::steps::{
    Delivered, Fate, NewJob, Outcome, PUT_OFF_MAX, PUT_OFF_MS, ReadStats, Report, Rescued, Room, SettleAndClaim, State,
};

/// A process of 64 slots.
const WIDE: Room = Room { slots: 64, level: 0, running: 0 };

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix} {number:03}")).collect()
}

fn jobs(names: &[String]) -> Vec<NewJob> {
    names.iter().map(|name| job(name)).collect()
}

/// A claim of a new process with this room.
async fn claim(rig: &Rig, room: Room, limit: usize) -> Result<Vec<Delivered>> {
    let call = SettleAndClaim { room, ..Consumer::default().call(limit) };
    Ok(rig.settle_and_claim(&call).await?.deliveries)
}

fn starting_with(deliveries: &[Delivered], prefix: &str) -> usize {
    deliveries.iter().filter(|delivered| plain(delivered).starts_with(prefix)).count()
}

/// A process begins these, reports them so, and dies; a second later what crashed waits again.
async fn crash(rig: &Rig, deliveries: &[Delivered], report: Report) -> Result<Rescued> {
    for delivered in deliveries {
        assert!(rig.report(&Consumer::default(), delivered.receipt, report).await?);
    }
    let rescued = rig.expire_leases().await?;
    rig.time.advance(4_001).await?;
    Ok(rescued)
}

/// After a crash of a process with 64 slots, all jobs that had run there were retried one at a time, and all other jobs waited.
// shows: hazard F6
pub async fn suspects_are_claimed_a_few_at_a_time(rig: &Rig) -> Result<()> {
    rig.given(&jobs(&names("suspect", 24))).await?;
    crash(rig, &claim(rig, WIDE, 64).await?, Report::STARTED).await?;
    rig.given(&jobs(&names("other", 20))).await?;
    let first = claim(rig, WIDE, 64).await?;
    assert_eq!((starting_with(&first, "suspect"), starting_with(&first, "other")), (16, 20));
    // The process has them all; another one has places, but the rest were put off for a moment.
    assert!(claim(rig, WIDE, 64).await?.is_empty());
    rig.time.advance(PUT_OFF_MS).await?;
    let full = Room { level: 1, running: 16, ..WIDE };
    assert!(claim(rig, full, 64).await?.is_empty());
    assert!(claim(rig, Room::default(), 64).await?.is_empty());
    rig.time.advance(PUT_OFF_MS).await?;
    assert_eq!(claim(rig, Room { running: 12, ..full }, 64).await?.len(), 4);
    // A second crash, and a quarter of them runs at once.
    let suspects: Vec<Delivered> = first.into_iter().filter(|one| plain(one).starts_with("suspect")).collect();
    crash(rig, &suspects, Report::STARTED).await?;
    let second = claim(rig, Room { level: 2, running: 1, ..WIDE }, 64).await?;
    assert_eq!(starting_with(&second, "suspect"), 3);
    Ok(())
}

/// Next to others of its own kind a suspect would crash them, and be crashed by those that crashed more often.
// shows: hazard F6
pub async fn only_suspects_of_one_level_run_together(rig: &Rig) -> Result<()> {
    rig.given(&[job("twice")]).await?;
    crash(rig, &claim(rig, WIDE, 1).await?, Report::STARTED).await?;
    rig.given(&[job("once")]).await?;
    crash(rig, &claim(rig, WIDE, 2).await?, Report::STARTED).await?;
    rig.time.advance(PUT_OFF_MS).await?;
    let once = claim(rig, WIDE, 2).await?;
    assert_eq!(once.iter().map(plain).collect::<Vec<_>>(), ["once"], "what crashed later waits for longer");
    assert_eq!(rig.live(job("twice").id).await?.suspicion(), 2);
    rig.time.advance(PUT_OFF_MS).await?;
    assert!(claim(rig, Room { level: 1, running: 1, ..WIDE }, 2).await?.is_empty());
    rig.time.advance(PUT_OFF_MS).await?;
    assert_eq!(claim(rig, Room { level: 2, running: 1, ..WIDE }, 2).await?.len(), 1);
    Ok(())
}

/// A job that kills its worker before the start is reported would never count as a crash.
// shows: hazard F6
pub async fn job_with_two_expired_leases_is_a_suspect(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    for _ in 0..2 {
        claim(rig, WIDE, 1).await?;
        rig.expire_leases().await?;
    }
    rig.given(&[job("b")]).await?;
    let full = claim(rig, Room { level: 1, running: 16, ..WIDE }, 10).await?;
    assert_eq!(full.iter().map(plain).collect::<Vec<_>>(), ["b"]);
    rig.time.advance(PUT_OFF_MS).await?;
    let mut consumer = Consumer::default();
    let suspect = rig.claim_one(&mut consumer).await?;
    assert_eq!(plain(&suspect), "a");
    // An orderly end of the run clears the suspicion.
    rig.settle(&mut consumer, suspect.receipt, Outcome::Released).await?;
    assert!(!rig.live(suspect.receipt.id).await?.is_suspect());
    Ok(())
}

/// However many suspects wait in front, a call stays short, and the jobs behind them are claimed by the next one.
// shows: hazard F6
pub async fn claim_postpones_up_to_a_hundred_suspects(rig: &Rig) -> Result<()> {
    rig.given(&jobs(&names("suspect", PUT_OFF_MAX + 20))).await?;
    crash(rig, &claim(rig, WIDE, 500).await?, Report::STARTED).await?;
    rig.given(&[job("other"), job("second")]).await?;
    assert!(claim(rig, Room::default(), 1).await?.is_empty());
    assert_eq!(rig.run(&ReadStats).await?.ready, 22);
    assert_eq!(claim(rig, Room::default(), 1).await?.iter().map(plain).collect::<Vec<_>>(), ["other"]);
    assert_eq!(rig.run(&ReadStats).await?.ready, 1);
    Ok(())
}

/// A job that kills its worker took its neighbors' attempts with it, until they were all dead letters.
// shows: Q22
pub async fn crash_is_not_counted_for_a_shielded_job(rig: &Rig) -> Result<()> {
    rig.given(&[job("neighbor")]).await?;
    let neighbor = claim(rig, WIDE, 1).await?;
    let shielded = Report { is_shielded: true, ..Report::STARTED };
    let rescued = crash(rig, &neighbor, shielded).await?;
    assert_eq!(rescued.jobs, [(job("neighbor").id, Fate::LeaseExpired)]);
    let waiting = rig.live(job("neighbor").id).await?;
    assert_eq!((waiting.errors, waiting.crashes, waiting.lease_expiries), (0, 0, 1));
    assert!(!waiting.shielded && !waiting.is_suspect());
    assert!(waiting.error_notes().all(|error| error.class == ErrorClass::LeaseExpired));
    Ok(())
}

/// The sender has configured that the job must not run twice, whichever job caused the crash.
// shows: hazard F6
pub async fn shielded_job_without_retries_does_not_run_twice(rig: &Rig) -> Result<()> {
    let once = JobSpec { retries: Retries::Limited(0), ..job("once").spec };
    rig.given(&[NewJob { spec: once, ..job("once") }]).await?;
    let shielded = Report { is_shielded: true, ..Report::STARTED };
    let rescued = crash(rig, &claim(rig, WIDE, 1).await?, shielded).await?;
    assert_eq!(rescued.jobs, [(job("once").id, Fate::Died)]);
    Ok(())
}

/// Once the suspect has ended, a crash counts for the jobs that ran with it, too.
// shows: hazard F6
pub async fn job_loses_its_shield_when_the_suspect_ended(rig: &Rig) -> Result<()> {
    rig.given(&[job("neighbor")]).await?;
    let neighbor = claim(rig, WIDE, 1).await?;
    let receipt = neighbor[0].receipt;
    rig.report(&Consumer::default(), receipt, Report { is_shielded: true, ..Report::STARTED }).await?;
    assert!(rig.live(receipt.id).await?.shielded);
    let rescued = crash(rig, &neighbor, Report::WAITS).await?;
    assert_eq!(rescued.jobs, [(receipt.id, Fate::Crashed)], "that it was started is not taken back");
    Ok(())
}

/// Suspects that ran together crash together: which of them is to blame shows only when one of them crashes alone.
// shows: Q22
pub async fn job_is_dead_only_after_crashing_alone(rig: &Rig) -> Result<()> {
    rig.given(&[job("a")]).await?;
    let id = job("a").id;
    for _ in 0..3 {
        let rescued = crash(rig, &claim(rig, WIDE, 1).await?, Report::STARTED).await?;
        assert_eq!(rescued.jobs, [(id, Fate::Crashed)]);
    }
    let together = rig.live(id).await?;
    assert_eq!((together.crashes, together.alone), (3, false));
    let rescued = crash(rig, &claim(rig, WIDE, 1).await?, Report::ALONE).await?;
    assert_eq!((rescued.jobs, rig.state(id).await?), (vec![(id, Fate::Died)], Some(State::Dead)));
    Ok(())
}
