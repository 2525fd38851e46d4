//! The model and the scripts, given the same random calls: every answer must be equal, and after each batch everything that can
//! be read of the two, and the keys in Redis must be in order.
//!
//! A seed decides everything; the report of a difference names it and shows the calls before.

mod call;
mod random;
mod watch;

use super::invariants;
use super::world::{ServerTime, World};
use anyhow::{Context, Result, bail, ensure};
use call::Call;
use evenkeel_protocol::queue::job::Priority;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, QueueSteps, Settled, State};
use evenkeel_protocol::queue::{MemoryQueue, RedisQueue};
use random::Generator;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use watch::Watch;

/// Calls between two looks at the keys.
const BATCH: usize = 250;
/// Calls shown when something differs.
const SHOWN: usize = 25;

/// Answers a long run must meet: what never happens is not compared.
const ANSWERS: &[(&str, &[&str])] = &[
    ("Enqueue", &["Created", "Duplicate", "Taken", "Dead", "Ended", "Full"]),
    ("Put", &["Applied", "Superseded"]),
    ("Tick", &["Moved", "Elsewhere"]),
    ("Settle", &["Stale", "Lost", "Settled", "Died", "Discarded", "Delivered"]),
    ("Beat", &["true", "false"]),
    ("Revoke", &["Revoked", "RevokedAfterLapse", "Running", "Dead", "Ended", "Unknown"]),
    ("Reschedule", &["Changed", "ChangedAfterLapse", "Running", "Dead", "Ended", "Unknown"]),
    ("Rescue", &["Lapsed", "Crashed", "Died", "Discarded"]),
    // "TakenBefore" wants a letter to die twice between two calls of one redrive; that is rare, and has a story of its own.
    ("Redrive", &["Taken", "DiedLater", "NotDead"]),
    ("Forget", &["true", "false"]),
    ("Delete", &["true", "false"]),
    ("Job", &["Live", "Ended", "None"]),
    ("List", &["Listed"]),
    ("PopMarker", &["true", "false"]),
];

/// How often each kind of answer came.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<(&'static str, &'static str), usize>);

impl Tally {
    /// The answers that never came, of those that a long run must meet.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let wanted = ANSWERS.iter().flat_map(|(call, words)| words.iter().map(|word| (*call, *word)));
        wanted.filter(|wanted| !self.0.contains_key(wanted)).map(|(call, word)| format!("{call}: {word}")).collect()
    }

    /// Counts another run's answers too.
    pub fn add(&mut self, other: Tally) {
        for (answer, count) in other.0 {
            *self.0.entry(answer).or_default() += count;
        }
    }

    fn count(&mut self, call: &Call, answer: &str) {
        let name = format!("{call:?}");
        let Some((call, words)) = ANSWERS.iter().find(|(call, _)| name.split(['(', '{']).next() == Some(*call)) else {
            return;
        };
        let said: Vec<&str> = answer.split(|c: char| !c.is_alphanumeric()).collect();
        for word in words.iter().filter(|word| said.contains(*word)) {
            *self.0.entry((call, word)).or_default() += 1;
        }
    }
}

/// Drives both through `steps` random calls; tells which answers there were.
///
/// # Errors
/// The first difference, with the seed and the calls before it.
pub async fn model_and_redis_agree(seed: u64, steps: usize) -> Result<Tally> {
    let model = World::memory().await?;
    let redis = World::redis().await?;
    let mut generator = Generator::new(seed, model.time.now());
    let mut watch = Watch::default();
    let mut tally = Tally::default();
    let mut shown = VecDeque::new();
    for step in 1..=steps {
        let call = generator.next();
        shown.push_back(format!("{call:?}"));
        if shown.len() > SHOWN {
            shown.pop_front();
        }
        let played = play(&model, &redis, &call, &mut watch, &mut generator).await;
        let looked = if played.is_ok() && step % BATCH == 0 { look(&model, &redis).await } else { Ok(()) };
        let replay = crate::conformance::cache::side_by_side::SEED_VARIABLE;
        let story = || {
            let calls: Vec<&str> = shown.iter().map(String::as_str).collect();
            format!("step {step}; to replay: {replay}={seed}\n{}", calls.join("\n"))
        };
        tally.count(&call, &played.with_context(story)?);
        looked.with_context(story)?;
    }
    Ok(tally)
}

/// Makes one call on both; the answer, in words.
async fn play(
    model: &World<MemoryQueue>,
    redis: &World<RedisQueue>,
    call: &Call,
    watch: &mut Watch,
    generator: &mut Generator,
) -> Result<String> {
    let expected = call.make(model).await?;
    let got = call.make(redis).await?;
    ensure!(expected.text == got.text, "they differ\n model {}\n redis {}", expected.text, got.text);
    watch.see(call, &got, redis.time.now())?;
    if let Some(Settled::Done(claimed)) = &got.settled {
        generator.learn(claimed);
    }
    Ok(got.text)
}

/// Compares everything both can be asked, and the keys of Redis with the invariants.
async fn look(model: &World<MemoryQueue>, redis: &World<RedisQueue>) -> Result<()> {
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

fn equal<T: Debug + PartialEq>(what: &str, model: &T, redis: &T) -> Result<()> {
    ensure!(model == redis, "{what} differs\n model {model:?}\n redis {redis:?}");
    Ok(())
}
