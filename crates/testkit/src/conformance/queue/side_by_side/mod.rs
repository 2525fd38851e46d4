//! The model and the scripts of queues, compared on the same random calls. Now and then everything that can be read of the
//! two is compared, and the keys in Redis are checked against the invariants.

mod call;
mod random;
mod watch;

use super::invariants;
use super::rig::Rig;
use crate::conformance::differential::{Differential, same};
use crate::conformance::rig::ServerTime;
use anyhow::{Result, bail, ensure};
use call::Call;
use evenkeel_protocol::queue::job::Priority;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, QueueSteps, Settled, State};
use evenkeel_protocol::queue::{MemoryQueue, RedisQueue};
use random::Generator;
use std::fmt::Debug;
use watch::Watch;

/// The model and the scripts of a queue.
pub struct Queues {
    model: Rig<MemoryQueue>,
    redis: Rig<RedisQueue>,
    generator: Generator,
    watch: Watch,
}

/// A call, or an event that happens to both.
#[derive(Clone, Debug)]
pub struct Step(Call);

impl Differential for Queues {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "Enqueue Created",
        "Enqueue Duplicate",
        "Enqueue Taken",
        "Enqueue Dead",
        "Enqueue Ended",
        "Enqueue Full",
        "Put Applied",
        "Put Superseded",
        "Tick Moved",
        "Tick Elsewhere",
        "Settle Stale",
        "Settle Lost",
        "Settle Settled",
        "Settle Died",
        "Settle Discarded",
        "Settle Delivered",
        "Heartbeat true",
        "Heartbeat false",
        "Revoke Revoked",
        "Revoke RevokedAfterLeaseExpiry",
        "Revoke Running",
        "Revoke Dead",
        "Revoke Ended",
        "Revoke Unknown",
        "Reschedule Changed",
        "Reschedule ChangedAfterLeaseExpiry",
        "Reschedule Running",
        "Reschedule Dead",
        "Reschedule Ended",
        "Reschedule Unknown",
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
        "Job Live",
        "Job Ended",
        "Job None",
        "List Listed",
        "PopMarker true",
        "PopMarker false",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (Rig::memory().await?, Rig::redis().await?);
        let generator = Generator::new(seed, model.time.now());
        Ok(Self { model, redis, generator, watch: Watch::default() })
    }

    fn draw(&mut self) -> Step {
        Step(self.generator.next())
    }

    async fn play(&mut self, Step(call): &Step) -> Result<String> {
        let (expected, got) = (call.make(&self.model).await?, call.make(&self.redis).await?);
        let reply = same(call, &expected.text, &got.text)?;
        self.watch.see(call, &got, self.redis.time.now())?;
        if let Some(Settled::Done(claimed)) = &got.settled {
            self.generator.learn(claimed);
        }
        Ok(reply)
    }

    async fn check(&mut self) -> Result<()> {
        let (model, redis) = (&self.model, &self.redis);
        let ServerTime::Redis { link, .. } = &redis.time else { bail!("the scripts' clock is not in Redis") };
        invariants::check(link, &redis.shard).await?;
        for id in random::ids() {
            let of_model = model.queue.job(&model.shard, id).await?;
            equal("the job", &of_model, &redis.queue.job(&redis.shard, id).await?)?;
            let of_model = model.queue.heads(&model.shard, &[id]).await?;
            equal("the head of the job", &of_model, &redis.queue.heads(&redis.shard, &[id]).await?)?;
        }
        let states = Priority::ALL.map(State::Waiting).into_iter().chain([State::Leased, State::Dead]);
        for state in states {
            let of_model = model.queue.list(&model.shard, state, None, ITEMS_MAX).await?;
            equal("the list", &of_model, &redis.queue.list(&redis.shard, state, None, ITEMS_MAX).await?)?;
        }
        equal("the figures", &model.queue.stats(&model.shard).await?, &redis.queue.stats(&redis.shard).await?)
    }
}

fn equal<T: Debug + PartialEq>(what: &str, model: &T, redis: &T) -> Result<()> {
    ensure!(model == redis, "{what} differs\n model {model:?}\n redis {redis:?}");
    Ok(())
}
