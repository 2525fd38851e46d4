//! What a worker sends and gets.

use super::{Body, Problem, Wide};
use crate::console::api::limits::error_text;
use crate::kind::{in_range, invalid};
use crate::lock::token_of_hex;
use evenkeel_link::Token;
use evenkeel_protocol::queue::steps::{Outcome, Receipt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::hex;

/// Jobs of one call: claims and settlements, each.
pub(super) const JOBS_MAX: usize = 100;
/// Numbers that leave room for the looks of a call.
pub(super) const SEQUENCE_MAX: u64 = 1 << 32;
const LEASE_MS: std::ops::RangeInclusive<u32> = 1_000..=3_600_000;
const WAIT_MS_MAX: u32 = 20_000;
const WORKER_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// A call of a worker, which has one outstanding.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// Random, drawn at each start: 16 to 64 characters.
    #[schema(min_length = 16, max_length = 64, pattern = "^[!-~]+$")]
    pub(super) worker: String,
    /// 1 for the first call; one more with each new call; the same for a repeat. At most 2^32.
    #[schema(value_type = String, pattern = "^([1-9][0-9]{0,8}|[1-3][0-9]{9}|4294967296)$")]
    pub(super) sequence: Wide,
    #[serde(default)]
    #[schema(max_items = 100)]
    pub(super) settle: Vec<Settlement>,
    /// The most jobs to claim.
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(maximum = 100)]
    pub(super) want: usize,
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(minimum = 1_000, maximum = 3_600_000)]
    pub(super) lease_ms: u32,
    /// How long to wait for a job, if the call settles none.
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(maximum = 20_000)]
    pub(super) wait_ms: u32,
}

/// One delivery, as `work` returned it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub(super) id: String,
    #[schema(pattern = "^[0-9]{1,4}-[0-9a-f]{32}$")]
    pub(super) token: String,
    pub(super) fence: Wide,
}

/// The outcome of one delivery.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Settlement {
    #[schema(pattern = "^[0-9a-f]{32}$")]
    id: String,
    #[schema(pattern = "^[0-9]{1,4}-[0-9a-f]{32}$")]
    token: String,
    fence: Wide,
    outcome: Word,
    /// The delay before the next attempt, of `failed` and `snoozed`.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^[0-9]{1,13}$")]
    delay_ms: Wide,
    #[serde(default)]
    #[schema(schema_with = error_text)]
    error: String,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    Done,
    Failed,
    Snoozed,
    Released,
    Dead,
}

/// A heartbeat.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pulse {
    #[schema(min_length = 16, max_length = 64, pattern = "^[!-~]+$")]
    pub(super) worker: String,
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(minimum = 1_000, maximum = 3_600_000)]
    pub(super) lease_ms: u32,
    /// Deliveries whose handler has not begun.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub(super) held: Vec<Named>,
    /// Deliveries whose handler has begun or begins now.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub(super) started: Vec<Named>,
}

/// For each delivery of a heartbeat: whether it is still held.
#[derive(Serialize, ToSchema)]
pub(crate) struct Held {
    pub(super) held: Vec<bool>,
    pub(super) started: Vec<bool>,
}

/// The reply to a call.
#[derive(Serialize, ToSchema)]
pub(super) struct Worked {
    /// One for each settlement: `settled`, `died`, `discarded`, or `lost`: the delivery is no longer current, and nothing changed.
    pub(super) verdicts: Vec<&'static str>,
    pub(super) jobs: Vec<Given>,
    /// A lease ends at the time when the call was sent + `waited_ms` + its `lease_ms`, at the earliest.
    pub(super) waited_ms: u64,
}

/// A job that was claimed.
#[derive(Serialize, ToSchema)]
pub(super) struct Given {
    pub(super) id: String,
    pub(super) token: String,
    pub(super) fence: Wide,
    pub(super) lease_ms: u64,
    /// Counted from 1.
    pub(super) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sender_id: Option<String>,
    /// Why the record cannot be read; such a job has no body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<String>,
    #[serde(flatten)]
    pub(super) body: Body,
}

/// Checks the bounds of a call.
pub(super) fn checked(call: &Call) -> Result<(), Problem> {
    checked_worker(&call.worker)?;
    in_range("sequence", call.sequence.0, 1..=SEQUENCE_MAX)?;
    if call.want > JOBS_MAX || call.settle.len() > JOBS_MAX {
        return Err(invalid("want", format!("A call claims and settles at most {JOBS_MAX} jobs.")));
    }
    in_range("lease_ms", call.lease_ms, LEASE_MS)?;
    if call.wait_ms > WAIT_MS_MAX {
        return Err(invalid("wait_ms", format!("`wait_ms` must be at most {WAIT_MS_MAX}.")));
    }
    Ok(())
}

/// Checks the bounds of a heartbeat.
pub(super) fn checked_pulse(pulse: &Pulse) -> Result<(), Problem> {
    checked_worker(&pulse.worker)?;
    if pulse.held.len() > JOBS_MAX || pulse.started.len() > JOBS_MAX {
        return Err(invalid("held", format!("`held` and `started` have at most {JOBS_MAX} jobs each.")));
    }
    in_range("lease_ms", pulse.lease_ms, LEASE_MS)?;
    Ok(())
}

fn checked_worker(worker: &str) -> Result<(), Problem> {
    let is_text = worker.bytes().all(|byte| byte.is_ascii_graphic());
    if WORKER_BYTES.contains(&worker.len()) && is_text {
        return Ok(());
    }
    let detail = "`worker` must have 16 to 64 letters, digits or signs: draw it at random when the worker starts.";
    Err(invalid("worker", detail))
}

/// The token of a delivery: its shard, and the token in Redis.
pub(super) fn token_text(shard: u16, token: Token) -> String {
    format!("{shard}-{}", hex(token.as_bytes()))
}

fn parse(id: &str, token: &str, fence: Wide) -> Result<(u16, Receipt), Problem> {
    let parsed = || {
        let (shard, token) = token.split_once('-')?;
        let receipt = Receipt { id: id.parse().ok()?, token: token_of_hex(token)?, fence: fence.0 };
        Some((shard.parse().ok()?, receipt))
    };
    let detail = "`id`, `token` and `fence` must be those that `work` returned with the job.";
    parsed().ok_or_else(|| invalid("token", detail))
}

impl Named {
    /// The shard and the delivery.
    pub(super) fn parse(&self) -> Result<(u16, Receipt), Problem> {
        parse(&self.id, &self.token, self.fence)
    }
}

impl Settlement {
    /// The shard, the delivery and its outcome.
    pub(super) fn parse(&self) -> Result<(u16, (Receipt, Outcome)), Problem> {
        let (shard, receipt) = parse(&self.id, &self.token, self.fence)?;
        let text = self.error.clone().into_bytes().into();
        let outcome = match self.outcome {
            Word::Done => Outcome::Done,
            Word::Failed => Outcome::Failed { retry_ms: self.delay_ms.0, error: text },
            Word::Snoozed => Outcome::Snoozed { after_ms: self.delay_ms.0 },
            Word::Released => Outcome::Released,
            Word::Dead => Outcome::Dead { reason: text },
        };
        Ok((shard, (receipt, outcome)))
    }
}
