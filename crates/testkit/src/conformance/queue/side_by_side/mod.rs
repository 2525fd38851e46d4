//! The model and the scripts of queues, compared on the same random calls. Now and then everything that can be read of the
//! two is compared, and the keys in Redis are checked against the invariants.

mod random;
mod watch;

use super::invariants;
use super::rig::Rig;
use crate::conformance::differential::{Differential, same};
use crate::conformance::rig::ServerTime;
use crate::conformance::step;
use anyhow::{Result, bail, ensure};
use evenkeel_protocol::queue::job::Priority;
use evenkeel_protocol::queue::steps::{
    ITEMS_MAX, List, ReadHeads, ReadJobs, ReadStats, SettleAndClaim, Settled, Shard, State,
};
use evenkeel_protocol::step::Step;
use random::Generator;
use std::fmt::Debug;
use watch::Watch;

/// A step of the queue, or an event.
pub type Move = step::Move<Shard>;

/// The model and the scripts of a queue.
pub struct Queues {
    model: Rig,
    redis: Rig,
    generator: Generator,
    watch: Watch,
}

impl Differential for Queues {
    type Step = Move;

    const REPLIES: &'static [&'static str] = &[
        "Enqueue Created",
        "Enqueue Duplicate",
        "Enqueue Taken",
        "Enqueue Dead",
        "Enqueue Ended",
        "Enqueue Full",
        "Puts Applied",
        "Puts Superseded",
        "Tick Moved",
        "Tick Elsewhere",
        "SettleAndClaim Stale",
        "SettleAndClaim Lost",
        "SettleAndClaim Settled",
        "SettleAndClaim Died",
        "SettleAndClaim Discarded",
        "SettleAndClaim Delivered",
        "Heartbeat true",
        "Heartbeat false",
        "Revoke Revoked",
        "Revoke RevokedAfterLeaseExpiry",
        "Revoke Running",
        "Revoke Dead",
        "Revoke Ended",
        "Revoke Unknown",
        "Reschedules Changed",
        "Reschedules ChangedAfterLeaseExpiry",
        "Reschedules Running",
        "Reschedules Dead",
        "Reschedules Ended",
        "Reschedules Unknown",
        "Rescue LeaseExpired",
        "Rescue Crashed",
        "Rescue Died",
        "Rescue Discarded",
        // "Redrive TakenBefore" requires a letter to die twice between two calls of one redrive; that is rare, and has its
        // own story.
        "Redrive Taken",
        "Redrive DiedLater",
        "Redrive NotDead",
        "Forget true",
        "Forget false",
        "Delete true",
        "Delete false",
        "ReadJobs Live",
        "ReadJobs Ended",
        "ReadJobs None",
        "List Listed",
        "PopMarker true",
        "PopMarker false",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        let generator = Generator::new(seed, model.time.now());
        Ok(Self { model, redis, generator, watch: Watch::default() })
    }

    fn draw(&mut self) -> Move {
        self.generator.next()
    }

    async fn play(&mut self, drawn: &Move) -> Result<String> {
        let Self { model, redis, .. } = &*self;
        let expected = drawn.make(&model.time, &model.queue, &model.shard).await?;
        let got = drawn.make(&redis.time, &redis.queue, &redis.shard).await?;
        let reply = same(drawn, &expected.text, &got.text)?;
        self.watch.see(drawn, &got, self.redis.time.now())?;
        if let Some((_, Settled::Done(claimed))) = drawn.played::<SettleAndClaim>(&got) {
            self.generator.learn(claimed);
        }
        Ok(reply)
    }

    async fn check(&mut self) -> Result<()> {
        let ServerTime::Redis { link, .. } = &self.redis.time else { bail!("the scripts' clock is not in Redis") };
        invariants::check(link, &self.redis.shard).await?;
        for id in random::ids() {
            self.compare(&ReadJobs(vec![id])).await?;
            self.compare(&ReadHeads(vec![id])).await?;
        }
        let states = Priority::ALL.map(State::Waiting).into_iter().chain([State::Leased, State::Dead]);
        for state in states {
            self.compare(&List::first(state, ITEMS_MAX)).await?;
        }
        self.compare(&ReadStats).await
    }
}

impl Queues {
    async fn compare<S: Step<Shard, Reply: Debug + PartialEq> + Debug>(&self, step: &S) -> Result<()> {
        let (model, redis) = (self.model.run(step).await?, self.redis.run(step).await?);
        ensure!(model == redis, "{step:?} differs\n model {model:?}\n redis {redis:?}");
        Ok(())
    }
}
