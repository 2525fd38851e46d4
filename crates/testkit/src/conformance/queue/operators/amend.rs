//! Dead letters with another body.

use crate::conformance::queue::world::{Consumer, World, job};
use anyhow::Result;
use bytes::Bytes;
use evenkeel_protocol::queue::job::{End, JobSpec, Keep, Note};
use evenkeel_protocol::queue::record::encoded_len;
use evenkeel_protocol::queue::steps::{Amend, Amended, NewJob, QueueSteps, State};

async fn amend<Q: QueueSteps>(world: &World<Q>, name: &str, seen: &str, body: &str) -> Result<Amended> {
    let (seen, body) = (Bytes::copy_from_slice(seen.as_bytes()), Bytes::copy_from_slice(body.as_bytes()));
    let call = Amend { id: job(name).id, seen, body, codec: Some(1) };
    Ok(world.queue.amend(&world.shard, &call).await?)
}

/// Two operators edited one dead letter, and the later save silently undid the earlier one.
pub async fn dead_letter_is_amended_only_if_it_is_the_one_seen<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    for (name, codec, late_ms_max) in [("a", None, None), ("b", Some(77), Some(9)), ("c", Some(2), None)] {
        let notes = vec![Note::Name(name.to_owned().into())];
        let spec = JobSpec { codec, late_ms_max, notes, ..job(name).spec };
        world.given(&[NewJob { spec, ..job(name) }]).await?;
        world.kill(&mut Consumer::default()).await?;
        let before = world.live(job(name).id).await?;
        assert_eq!(amend(world, name, "another", "x").await?, Amended::Other);
        assert_eq!(world.live(job(name).id).await?, before, "nothing changed");
        assert_eq!(amend(world, name, name, "a longer body").await?, Amended::Changed);
        assert_eq!(amend(world, name, name, "a longer body").await?, Amended::Changed, "a repeat");
        assert_eq!(amend(world, name, name, "late").await?, Amended::Other, "of the second operator");
        let mut wanted = before;
        (wanted.spec.body, wanted.spec.codec) = ("a longer body".into(), Some(1));
        assert_eq!(world.live(job(name).id).await?, wanted, "only the body changed");
        assert_eq!(amend(world, name, "a longer body", "").await?, Amended::Changed);
        wanted.spec.body = Bytes::new();
        assert_eq!(world.live(job(name).id).await?, wanted);
        assert_eq!(world.state(job(name).id).await?, Some(State::Dead));
        assert_eq!(world.queue.stats(&world.shard).await?.bytes, u64::try_from(encoded_len(&wanted))?);
        assert_eq!(world.queue.delete(&world.shard, &[job(name).id]).await?, [true]);
    }
    Ok(())
}

/// What waits or runs may start at any moment: only dead letters hold still.
pub async fn only_dead_letters_are_amended<Q: QueueSteps>(world: &World<Q>) -> Result<()> {
    let spec = JobSpec { keep: Keep::AfterEnd(600_000), ..job("a").spec };
    world.given(&[NewJob { spec, ..job("a") }]).await?;
    assert_eq!(amend(world, "a", "a", "b").await?, Amended::NotDead);
    let mut consumer = Consumer::default();
    let held = world.claim_one(&mut consumer).await?;
    assert_eq!(amend(world, "a", "a", "b").await?, Amended::NotDead);
    assert_eq!(world.live(job("a").id).await?.spec.body, "a");
    world.settle(&mut consumer, held.receipt, evenkeel_protocol::queue::steps::Outcome::Done).await?;
    assert_eq!(amend(world, "a", "a", "b").await?, Amended::Ended(End::Done));
    assert_eq!(amend(world, "never seen", "a", "b").await?, Amended::Unknown);
    Ok(())
}
