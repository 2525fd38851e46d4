//! The model and the scripts of caches, compared on the same random steps: every reply, and the stored bytes after it.

mod call;
mod step;

use super::{Backend, InMemory, OnRedis};
use crate::conformance::differential::{Differential, same};
use anyhow::{Result, ensure};
use bytes::Bytes;
use call::{Answer, Call};
use evenkeel_protocol::cache::header::Entry;
use evenkeel_protocol::cache::steps::{BeginWrite, Fill, Grant, Invalidation, Lease, Leased};
use rand::SeedableRng;
use rand::rngs::StdRng;
use step::{Act, Cut, KEYS, Loaded, MINUTE_MS, Step};

/// The model and the scripts of a cache, and the past answers of each key's callers.
pub struct Caches {
    model: InMemory,
    redis: OnRedis,
    memories: [Memory; KEYS.len()],
    random: StdRng,
    /// Writers come in crowds.
    is_crowded: bool,
}

/// What callers of one key sent and received.
#[derive(Debug, Default)]
struct Memory {
    leases: Vec<Lease>,
    grants: Vec<Grant>,
    fills: Vec<Fill>,
    invalidations: Vec<Invalidation>,
    begins: Vec<BeginWrite>,
    ends: Vec<(evenkeel::Token, Invalidation)>,
    bytes: Vec<Bytes>,
}

impl Differential for Caches {
    type Step = Step;

    const REPLIES: &'static [&'static str] = &[
        "Lease Granted",
        "Lease AlreadyStored",
        "Lease Wait",
        "Lease Failing",
        "Lease Writing",
        "Lease OtherSchema",
        "Fill Stored",
        "Fill Superseded",
        "Fill BelowFloor",
        "Fill Gone",
        "BeginWrite Open",
        "BeginWrite Busy",
        "RenewWrite Open",
        "RenewWrite Lost",
        "EndWrite Closed",
        "EndWrite Expired",
    ];

    async fn open(seed: u64) -> Result<Self> {
        let (model, redis) = (InMemory::default(), OnRedis::start().await?);
        ensure!(model.now_ms() == redis.now_ms(), "the clocks differ");
        let random = StdRng::seed_from_u64(seed);
        Ok(Self { model, redis, memories: Default::default(), random, is_crowded: false })
    }

    fn draw(&mut self) -> Step {
        Step::draw(&mut self.random, &mut self.is_crowded)
    }

    async fn play(&mut self, step: &Step) -> Result<String> {
        let key = KEYS[step.key];
        self.disturb(key, step).await;
        let Some(call) = self.memories[step.key].call(&step.act) else { return Ok(String::new()) };
        let model = self.settled(call.make(self.model.steps(), key).await);
        if self.ends_soon(&model) {
            self.evict(key).await;
            return Ok(String::new());
        }
        let redis = self.settled(call.make(self.redis.steps(), key).await);
        let reply = same(&call, &model.words, &redis.words)?;
        ensure!(model == redis, "{call:?}\n  model:   {}\n  scripts: {}", describe(&model), describe(&redis));
        self.memories[step.key].record(call, model);
        Ok(reply)
    }
}

impl Caches {
    /// Does to both what happens in addition to calls.
    async fn disturb(&self, key: &[u8], step: &Step) {
        match step.act {
            Act::Advance(span_ms) => {
                self.model.advance(span_ms).await;
                self.redis.advance(span_ms).await;
            }
            Act::SetBack(span_ms) => {
                self.forget_ended().await;
                self.model.set_back(span_ms).await;
                self.redis.set_back(span_ms).await;
            }
            Act::Evict => self.evict(key).await,
            Act::Flush => {
                for key in KEYS {
                    self.evict(key).await;
                }
            }
            Act::RollBack { earlier } => {
                if let Some(bytes) = back(&self.memories[step.key].bytes, earlier) {
                    self.put(key, bytes).await;
                }
            }
            Act::Spoil { at, byte, cut } => {
                if let Some(bytes) = back(&self.memories[step.key].bytes, 0) {
                    let mut bytes = bytes.to_vec();
                    if let (Some(spoilt), false) = (bytes.get_mut(at), cut) {
                        *spoilt = byte;
                    } else {
                        bytes.truncate(at);
                    }
                    self.put(key, bytes.into()).await;
                }
            }
            _ => {}
        }
    }

    /// An expired entry may be gone or not (either store removes it when it meets it), and a clock set back would show the
    /// difference.
    async fn forget_ended(&self) {
        for key in KEYS {
            let answer = Call::Nothing.make(self.redis.steps(), key).await;
            if self.settled(answer).bytes.is_none() {
                self.evict(key).await;
            }
        }
    }

    async fn evict(&self, key: &[u8]) {
        self.model.evict(key).await;
        self.redis.evict(key).await;
    }

    async fn put(&self, key: &[u8], bytes: Bytes) {
        self.model.put(key, bytes.clone()).await;
        self.redis.put(key, bytes).await;
    }

    /// Whether Redis, where the key expires in real time, might lose the entry while the store's time is frozen. Only
    /// corrupted times are that close: all spans are whole minutes.
    fn ends_soon(&self, answer: &Answer) -> bool {
        let ends_at_ms = |bytes| Entry::parse(bytes).map_or(u64::MAX, |entry| entry.header.ends_at_ms);
        answer.bytes.clone().map_or(u64::MAX, ends_at_ms) < self.model.now_ms() + MINUTE_MS
    }

    /// An entry whose end has passed may or may not be there still.
    fn settled(&self, mut answer: Answer) -> Answer {
        let now_ms = self.model.now_ms();
        let ended = |bytes: &Bytes| Entry::parse(bytes.clone()).is_ok_and(|entry| entry.header.ends_at_ms <= now_ms);
        answer.bytes = answer.bytes.filter(|bytes| !ended(bytes));
        answer
    }
}

impl Memory {
    /// The call that a step makes; `None` if there is nothing yet that it could refer to.
    fn call(&self, act: &Act) -> Option<Call> {
        Some(match act {
            Act::Lease { token, generation, lease_ms, life_ms, why, schema, lag_ms_max } => Call::Lease(Lease {
                token: *token,
                generation: *generation,
                lease_ms: *lease_ms,
                life_ms: *life_ms,
                why: *why,
                schema: *schema,
                lag_ms_max: *lag_ms_max,
            }),
            Act::LeaseAgain { earlier } => Call::Lease(back(&self.leases, *earlier)?),
            Act::Fill { earlier, value } => Call::Fill(fill(back(&self.grants, *earlier)?, value)),
            Act::FillAgain { earlier } => Call::Fill(back(&self.fills, *earlier)?),
            Act::Abandon { earlier, retry_after_ms } => {
                Call::Abandon(back(&self.leases, *earlier)?.token, *retry_after_ms)
            }
            Act::Invalidate(cut) => Call::Invalidate(invalidation(cut)),
            Act::InvalidateAgain { earlier } => Call::Invalidate(back(&self.invalidations, *earlier)?),
            Act::BeginWrite { writer, cut, window_ms, suspect_ms, schema } => Call::BeginWrite(BeginWrite {
                token: *writer,
                invalidation: invalidation(cut),
                window_ms: *window_ms,
                suspect_ms: *suspect_ms,
                schema: *schema,
            }),
            Act::BeginAgain { earlier } => Call::BeginWrite(back(&self.begins, *earlier)?),
            Act::RenewWrite { writer, window_ms } => Call::RenewWrite(*writer, *window_ms),
            Act::EndWrite { writer, cut } => Call::EndWrite(*writer, invalidation(cut)),
            Act::EndAgain { earlier } => {
                let (writer, invalidation) = back(&self.ends, *earlier)?;
                Call::EndWrite(writer, invalidation)
            }
            _ => Call::Nothing,
        })
    }

    fn record(&mut self, call: Call, answer: Answer) {
        if let Some(Leased::Granted(grant)) = answer.leased {
            self.grants.push(grant);
        }
        self.bytes.extend(answer.bytes);
        match call {
            Call::Lease(lease) => self.leases.push(lease),
            Call::Fill(fill) => self.fills.push(fill),
            Call::Invalidate(invalidation) => self.invalidations.push(invalidation),
            Call::BeginWrite(begin) => self.begins.push(begin),
            Call::EndWrite(writer, invalidation) => self.ends.push((writer, invalidation)),
            Call::Abandon(..) | Call::RenewWrite(..) | Call::Nothing => {}
        }
    }
}

fn back<T: Clone>(all: &[T], earlier: usize) -> Option<T> {
    all.len().checked_sub(earlier + 1).map(|at| all[at].clone())
}

fn fill(grant: Grant, value: &Loaded) -> Fill {
    Fill {
        grant,
        version: value.version,
        absent: value.absent,
        codec: 200,
        compression: 7,
        payload: value.payload.clone().into(),
        soft_ms: value.soft_ms,
        hard_ms: value.hard_ms,
        suspect_ms: value.suspect_ms,
        spare_ms: value.spare_ms,
        replica_lag_ms: value.replica_lag_ms,
    }
}

fn invalidation(cut: &Cut) -> Invalidation {
    Invalidation { generation: cut.generation, floor: cut.floor, mode: cut.mode, lag_ms_max: cut.lag_ms_max }
}

fn describe(answer: &Answer) -> String {
    let entry = answer.bytes.clone().map(Entry::parse);
    format!("{}\n  {:?}\n  {entry:?}", answer.words, answer.bytes)
}
