//! Dead letters, sent back.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel_protocol::queue::job::{ErrorClass, JobId, JobSpec, Note};
use evenkeel_protocol::queue::steps::{NewJob, Redrive, RedriveVerdict, Redriven, State};

async fn redrive(rig: &Rig, redrive: u8, ids: &[JobId]) -> Result<Redriven> {
    let filter = Bytes::from(format!("filter {redrive}"));
    let call = Redrive { redrive: [redrive; 16], filter, ids: ids.to_vec(), delay_ms: 0 };
    Ok(rig.run(&call).await?)
}

/// A redrive that was started twice, or repeated after a lost reply, ran every letter twice; one that died again in between
/// was redriven endlessly.
// shows: queue::TopicRedrive::run, queue::TopicRedrive::run_with, queue::TopicRedrive::dry_run
pub async fn redrive_moves_each_dead_letter_once(rig: &Rig) -> Result<()> {
    let mut consumer = Consumer::default();
    rig.given(&[job("a"), job("b")]).await?;
    rig.kill(&mut consumer).await?;
    rig.kill(&mut consumer).await?;
    let ids = [job("a").id, job("b").id, job("never seen").id];
    let first = redrive(rig, 1, &ids[..1]).await?;
    assert_eq!(first.verdicts, [RedriveVerdict::Taken]);
    assert_eq!((first.taken, first.cutoff), (1, rig.time.now()));
    // It dies again, in the same millisecond, so that only the letter itself shows it.
    rig.kill(&mut consumer).await?;
    let second = redrive(rig, 1, &ids).await?;
    assert_eq!(second.verdicts, [RedriveVerdict::TakenBefore, RedriveVerdict::Taken, RedriveVerdict::NotDead]);
    assert_eq!(second.taken, 2);
    assert_eq!(redrive(rig, 1, &ids[..2]).await?.taken, 2);
    assert_eq!(rig.claimable(10).await?, ["b"]);
    // Another redrive is another decision.
    assert_eq!(redrive(rig, 2, &ids[..1]).await?.verdicts, [RedriveVerdict::Taken]);
    Ok(())
}

/// A job that dies while the redrive runs is not one that the operator saw when starting it.
pub async fn redrive_skips_letters_that_died_later(rig: &Rig) -> Result<()> {
    let mut consumer = Consumer::default();
    let begun = redrive(rig, 1, &[]).await?;
    rig.time.advance(1).await?;
    rig.given(&[job("later")]).await?;
    rig.kill(&mut consumer).await?;
    rig.time.advance(60_000).await?;
    let call = Redrive {
        redrive: [1; 16],
        filter: Bytes::from_static(b"another filter"),
        ids: vec![job("later").id],
        delay_ms: 0,
    };
    let went_on = rig.run(&call).await?;
    assert_eq!((went_on.cutoff, &went_on.filter), (begun.cutoff, &begun.filter), "the first call fixed them");
    assert_eq!(went_on.verdicts, [RedriveVerdict::DiedLater]);
    assert_eq!(rig.state(job("later").id).await?, Some(State::Dead));
    Ok(())
}

/// A letter that comes back has its attempts again, and its history still.
// shows: Q8
pub async fn redriven_job_keeps_its_history(rig: &Rig) -> Result<()> {
    let mut consumer = Consumer::default();
    let spec = JobSpec { late_ms_max: Some(500), ..job("a").spec };
    rig.given(&[NewJob { spec, ..job("a") }]).await?;
    rig.kill(&mut consumer).await?;
    rig.time.advance(3_600_000).await?;
    let call = Redrive { redrive: [7; 16], filter: Bytes::new(), ids: vec![job("a").id], delay_ms: 2_000 };
    rig.run(&call).await?;
    assert_eq!(rig.next().await?.due, Some(rig.time.now() + 2_000));
    rig.time.advance(2_500).await?;
    let back = rig.claim_one(&mut consumer).await?.job?;
    assert_eq!((back.errors, &back.spec.body[..]), (0, &b"a"[..]), "not expired, and with all its attempts");
    let error = back.error_notes().next().context("no error")?;
    assert_eq!((error.class, error.attempt), (ErrorClass::Dead, 1));
    let noted = |note: &Note| matches!(note, Note::Redriven { redrive: [7, ..], errors: 1, .. });
    assert!(back.spec.notes.iter().any(noted), "{:?}", back.spec.notes);
    Ok(())
}
