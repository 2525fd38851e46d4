//! Dead letters with another body.

use crate::conformance::queue::rig::{Consumer, Rig, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobSpec, Note, Retention};
use evenkeel_protocol::queue::record::encoded_len;
use evenkeel_protocol::queue::steps::{Amend, Amended, Delete, NewJob, ReadStats, State};

async fn amend(rig: &Rig, name: &str, seen: &str, body: &str) -> Result<Amended> {
    let (seen, body) = (Bytes::copy_from_slice(seen.as_bytes()), Bytes::copy_from_slice(body.as_bytes()));
    let call = Amend { id: job(name).id, seen, body, codec: Some(1) };
    Ok(rig.run(&call).await?)
}

/// Two operators edited one dead letter, and the later save silently undid the earlier one.
// shows: Q8, queue::Topic::amend, queue::Queue::amend
pub async fn dead_letter_is_amended_only_if_it_is_the_one_seen(rig: &Rig) -> Result<()> {
    for (name, codec, late_ms_max) in [("a", None, None), ("b", Some(77), Some(9)), ("c", Some(2), None)] {
        let notes = vec![Note::Name(name.to_owned().into())];
        let spec = JobSpec { codec, late_ms_max, notes, ..job(name).spec };
        rig.given(&[NewJob { spec, ..job(name) }]).await?;
        rig.kill(&mut Consumer::default()).await?;
        let before = rig.live(job(name).id).await?;
        assert_eq!(amend(rig, name, "another", "x").await?, Amended::Other);
        assert_eq!(rig.live(job(name).id).await?, before, "nothing changed");
        assert_eq!(amend(rig, name, name, "a longer body").await?, Amended::Changed);
        assert_eq!(amend(rig, name, name, "a longer body").await?, Amended::Changed, "a repeat");
        assert_eq!(amend(rig, name, name, "late").await?, Amended::Other, "of the second operator");
        let mut expected = before;
        (expected.spec.body, expected.spec.codec) = ("a longer body".into(), Some(1));
        assert_eq!(rig.live(job(name).id).await?, expected, "only the body changed");
        assert_eq!(amend(rig, name, "a longer body", "").await?, Amended::Changed);
        expected.spec.body = Bytes::new();
        assert_eq!(rig.live(job(name).id).await?, expected);
        assert_eq!(rig.state(job(name).id).await?, Some(State::Dead));
        assert_eq!(rig.run(&ReadStats).await?.bytes, u64::try_from(encoded_len(&expected))?);
        assert_eq!(rig.run(&Delete(vec![job(name).id])).await?, [true]);
    }
    Ok(())
}

/// A waiting job can start at any moment, and a running one has its body already, so only dead letters are edited.
// shows: queue::Topic::amend, queue::Queue::amend
pub async fn only_dead_letters_are_amended(rig: &Rig) -> Result<()> {
    let spec = JobSpec { retention: Retention::AfterEnd(600_000), ..job("a").spec };
    rig.given(&[NewJob { spec, ..job("a") }]).await?;
    assert_eq!(amend(rig, "a", "a", "b").await?, Amended::NotDead);
    let mut consumer = Consumer::default();
    let held = rig.claim_one(&mut consumer).await?;
    assert_eq!(amend(rig, "a", "a", "b").await?, Amended::NotDead);
    assert_eq!(rig.live(job("a").id).await?.spec.body, "a");
    rig.settle(&mut consumer, held.receipt, evenkeel_protocol::queue::steps::Outcome::Done).await?;
    assert_eq!(amend(rig, "a", "a", "b").await?, Amended::Ended(End::Done));
    assert_eq!(amend(rig, "never seen", "a", "b").await?, Amended::Unknown);
    Ok(())
}
