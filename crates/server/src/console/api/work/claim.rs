//! One look of a call at all shards, and its repetition.

use super::super::jobs::{found, sender_id};
use super::wire::{Call, Given, token_text};
use super::{Body, Problem, Wide};
use crate::console::app::App;
use crate::console::rights::Visitor;
use crate::console::source::queue_problem;
use crate::kind::STALE_CALL;
use evenkeel::clock::Moment;
use evenkeel::queue::Found;
use evenkeel::queue::topic::Topic;
use evenkeel_link::Token;
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::steps::{
    Claimed, Delivered, Outcome, ReadKept, Receipt, Rescue, Room, SettleAndClaim, Settled, Shard, Verdict, Worker,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use web::hex;

/// Looks of one call: the number of a look in Redis is `sequence` × this + look.
const LOOKS: u64 = 1 << 20;
/// Expired leases that one call takes back in a shard.
const RESCUES: usize = 100;
/// As the consumers of the library do by default.
const CRASH_MAX: u8 = 3;
const CRASH_DELAY_MS: u64 = 10_000;

/// The place of a settlement among the verdicts, and what to settle.
type Placed = (usize, (Receipt, Outcome));

/// One call, as it goes to the shards.
pub(super) struct Turn<'a> {
    app: &'a App,
    topic: &'a Topic,
    queue: QueueBackend,
    call: &'a Call,
    worker: Worker,
    /// The name of its key.
    key: &'a str,
    /// By shard, in the order of the call.
    settlements: BTreeMap<u16, Vec<Placed>>,
}

/// What a call has got so far.
pub(super) struct Claims {
    pub(super) look: u64,
    /// When the latest look began.
    pub(super) began: Moment,
    pub(super) verdicts: Vec<Option<&'static str>>,
    /// Each with the beginning of the look that claimed it.
    pub(super) jobs: Vec<(Moment, Given)>,
}

impl Claims {
    pub(super) fn new(settlements: usize) -> Self {
        Self {
            look: 0,
            began: Moment::from_clock(std::time::Duration::ZERO),
            verdicts: vec![None; settlements],
            jobs: Vec::new(),
        }
    }
}

/// The worker's id in Redis. Keys have workers of their own: none can repeat, or take, the calls of another.
pub(super) fn worker(visitor: &Visitor, worker: &str) -> Worker {
    Worker(hashed(&["worker", &visitor.name, worker]))
}

fn hashed(parts: &[&str]) -> [u8; 16] {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update([part.as_bytes(), b"\0"].concat()));
    let mut half = [0; 16];
    half.copy_from_slice(&digest.finalize()[..16]);
    half
}

impl<'a> Turn<'a> {
    pub(super) fn new(app: &'a App, visitor: &'a Visitor, topic: &'a Topic, call: &'a Call) -> Result<Self, Problem> {
        let mut settlements: BTreeMap<u16, Vec<_>> = BTreeMap::new();
        for (place, settlement) in call.settle.iter().enumerate() {
            let (shard, settlement) = settlement.parse()?;
            settlements.entry(shard).or_default().push((place, settlement));
        }
        let worker = worker(visitor, &call.worker);
        Ok(Self { app, topic, queue: app.api.queue()?, call, worker, key: &visitor.name, settlements })
    }

    /// Goes to all shards once: to each with what is to be settled there, and for what is still wanted.
    pub(super) async fn look(&self, claims: &mut Claims) -> Result<(), Problem> {
        let shards = self.topic.shards().max(1);
        // Worker and sequence fix the order, so that a repeat asks each shard for as much as the first call did.
        let first = u64::from(self.worker.0[0]).wrapping_add(self.call.sequence.0) % u64::from(shards);
        for place in 0..shards {
            let number = u16::try_from((first + u64::from(place)) % u64::from(shards)).unwrap_or(0);
            let settlements = self.settlements.get(&number).map(Vec::as_slice).unwrap_or_default();
            let want = self.call.want.saturating_sub(claims.jobs.len());
            if settlements.is_empty() && want == 0 {
                continue;
            }
            let shard = Shard::new(self.app.api.link()?.prefix(), self.topic.name(), number);
            if claims.look == 0 && want > 0 {
                self.rescue(&shard).await?;
            }
            let began = self.app.api.clock.now();
            let claimed = self.ask(&shard, &mut claims.look, settlements, want).await?;
            settlements.iter().zip(&claimed.verdicts).for_each(|((place, _), verdict)| {
                claims.verdicts[*place] = Some(word(*verdict));
            });
            for delivered in claimed.deliveries {
                if let Some(given) = self.given(number, delivered).await? {
                    claims.jobs.push((began, given));
                }
            }
            claims.began = began;
        }
        Ok(())
    }

    /// One call of a shard. If a later look of this call was executed, by a first sending of it, that one is repeated.
    async fn ask(
        &self,
        shard: &Shard,
        look: &mut u64,
        settlements: &[Placed],
        limit: usize,
    ) -> Result<Claimed, Problem> {
        for _ in 0..3 {
            let number = self.call.sequence.0 * LOOKS + *look;
            let step = SettleAndClaim {
                worker: self.worker,
                sequence: number,
                settlements: settlements.iter().map(|(_, settlement)| settlement.clone()).collect(),
                limit,
                lease_ms: self.call.lease_ms.into(),
                token: self.token(shard, number),
                fence_floor: 0,
                room: Room { slots: u32::try_from(limit).unwrap_or(0), level: 0, running: 0 },
            };
            if let Settled::Done(claimed) = self.queue.run(shard, &step).await.map_err(queue_problem)? {
                return Ok(claimed);
            }
            let kept = self.queue.run(shard, &ReadKept(self.worker)).await.map_err(queue_problem)?;
            match kept.map(|kept| kept.sequence).filter(|kept| kept / LOOKS == self.call.sequence.0) {
                Some(kept) => *look = kept % LOOKS,
                None => break,
            }
        }
        Err(Problem::plain(STALE_CALL))
    }

    /// The token of the deliveries of a look: the same for each sending of it. Only the worker knows its own name, which is random.
    fn token(&self, shard: &Shard, number: u64) -> Token {
        let worker = hex(&self.worker.0);
        Token::from(hashed(&["delivery", &worker, &self.call.worker, shard.tag(), &number.to_string()]))
    }

    /// Takes expired leases back: a topic may have no other consumers.
    async fn rescue(&self, shard: &Shard) -> Result<(), Problem> {
        let rescue =
            Rescue { limit: RESCUES, crash_max: CRASH_MAX, crash_delay_ms: CRASH_DELAY_MS, row_decides: false };
        self.queue.run(shard, &rescue).await.map(drop).map_err(queue_problem)
    }

    /// The job as the worker gets it; `None`: its lease was lost meanwhile.
    async fn given(&self, shard: u16, delivered: Delivered) -> Result<Option<Given>, Problem> {
        let receipt = delivered.receipt;
        let job = match (delivered.more, delivered.job) {
            (None, job) => job,
            // A large record does not travel with the claim.
            (Some(_), _) => match found(self.topic, receipt.id).await {
                Ok(Found::Live { job, .. }) if job.fence == receipt.fence => Ok(job),
                Ok(_) => return Ok(None),
                Err(problem) if problem.status().is_client_error() => return Ok(None),
                Err(problem) => return Err(problem),
            },
        };
        let holder = (self.key, self.call.worker.as_str());
        self.app.api.holders.note((self.topic.name(), receipt), holder, delivered.lease_left_ms);
        let (attempt, sender_id, unreadable, body) = match &job {
            Ok(job) => (u32::from(job.errors) + 1, sender_id(job), None, Body::of(&job.spec.body)),
            Err(unreadable) => (1, None, Some(unreadable.to_string()), Body::default()),
        };
        Ok(Some(Given {
            id: receipt.id.to_string(),
            token: token_text(shard, receipt.token),
            fence: Wide(receipt.fence),
            lease_ms: delivered.lease_left_ms,
            attempt,
            sender_id,
            unreadable,
            body,
        }))
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Lost => "lost",
        Verdict::Settled => "settled",
        Verdict::Died => "died",
        Verdict::Discarded => "discarded",
    }
}
