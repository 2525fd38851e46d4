//! Locks: acquire, renew, release, inspect, break. The owner is a token that the client draws, so that a resend gets the same fence.

use super::jobs::change::Changed;
use super::limits::{LockNameText, lock_name, metadata};
use super::openapi::{ActProblems, ReadProblems};
use super::wide::Wide;
use super::{OnSource, too_many};
use crate::console::rights::Action;
use crate::kind::{in_range, invalid};
use crate::lock::token_of_hex;
use crate::operations::failure::lock_problem;
use crate::operations::lock;
use crate::output::printable;
use axum::Json;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use evenkeel::lock::{Holder, LockName};
use evenkeel_link::Token;
use evenkeel_protocol::lock::steps::{Acquire, Acquired, LockSteps, Release, Released, Renewed};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use web::{JsonBody, Problem, Query};

const TTL_MS: std::ops::RangeInclusive<u32> = 1_000..=86_400_000;
const WAIT_MS_MAX: u32 = 20_000;
/// The pause between two attempts of a call that waits.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Acquisition {
    #[schema(schema_with = lock_name)]
    name: String,
    /// 32 hexadecimal digits, drawn at random for this acquisition; the same for a repeat.
    #[schema(min_length = 32, max_length = 32, pattern = "^[0-9a-fA-F]{32}$")]
    owner: String,
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(minimum = 1_000, maximum = 86_400_000)]
    ttl_ms: u32,
    #[serde(default, deserialize_with = "web::whole_number")]
    #[schema(maximum = 20_000)]
    wait_ms: u32,
    #[serde(default)]
    #[schema(schema_with = metadata)]
    metadata: String,
    /// A fence that was seen elsewhere: the new one is above it. At most 2^52.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^([0-9]{1,15}|[1-3][0-9]{15}|4[0-4][0-9]{14}|4503599627370496)$")]
    fence_above: Wide,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Extension {
    #[schema(schema_with = lock_name)]
    name: String,
    #[schema(min_length = 32, max_length = 32, pattern = "^[0-9a-fA-F]{32}$")]
    owner: String,
    #[serde(deserialize_with = "web::whole_number")]
    #[schema(minimum = 1_000, maximum = 86_400_000)]
    ttl_ms: u32,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Freeing {
    #[schema(schema_with = lock_name)]
    name: String,
    #[schema(min_length = 32, max_length = 32, pattern = "^[0-9a-fA-F]{32}$")]
    owner: String,
}

/// The reply to an acquisition.
#[derive(Serialize, ToSchema)]
pub(super) struct Granted {
    is_granted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<Wide>,
    /// The lease ends at the time when the call was sent + `waited_ms` + this, at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    waited_ms: u64,
    /// When the lock may be free, unless it is released before.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_in_ms: Option<u64>,
}

/// Whether the lease was renewed.
#[derive(Serialize, ToSchema)]
pub(super) struct Renewal {
    is_held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/locks/acquire", operation_id = "acquire_lock",
    tag = "programs", summary = "Acquire a lock",
    request_body = Acquisition,
    responses((status = 200, description = "Done", body = Granted), ActProblems)
)]
pub(super) async fn acquire(at: OnSource, JsonBody(call): JsonBody<Acquisition>) -> Result<Response, Problem> {
    at.visitor.check(Action::Lock, &call.name)?;
    at.source()?;
    let (name, owner) = (checked_name(&call.name)?, owner_of(&call.owner)?);
    in_range("ttl_ms", call.ttl_ms, TTL_MS)?;
    if call.wait_ms > WAIT_MS_MAX {
        return Err(invalid("wait_ms", format!("`wait_ms` must be at most {WAIT_MS_MAX}.")));
    }
    let locks = at.app.api.locks()?;
    let permit = if call.wait_ms > 0 { at.app.api.waiting.try_acquire().ok() } else { None };
    if call.wait_ms > 0 && permit.is_none() {
        return Ok(too_many("Too many calls wait.", Duration::from_secs(1)));
    }
    let step = Acquire {
        owner,
        process: owner,
        lease_ms: call.ttl_ms.into(),
        cooling_ms: 0,
        hold_ms_max: None,
        fence_floor: call.fence_above.0,
        // A place among the waiters would reserve the lock for a client that may have gone.
        waits: false,
        metadata: Bytes::from(call.metadata),
    };
    let arrived = at.app.api.clock.now();
    let until = arrived + Duration::from_millis(call.wait_ms.into());
    loop {
        let began = at.app.api.clock.now();
        let waited_ms = u64::try_from(began.since(arrived).as_millis()).unwrap_or(u64::MAX);
        match locks.acquire(&name, &step).await.map_err(lock_problem)? {
            Acquired::Granted { fence, lease_left_ms } => {
                let (fence, lease_ms) = (Some(Wide(fence.0)), Some(lease_left_ms));
                return Ok(
                    Json(Granted { is_granted: true, fence, lease_ms, waited_ms, free_in_ms: None }).into_response()
                );
            }
            Acquired::Taken { free_in_ms } if at.app.api.clock.now() >= until || *at.app.stopping.borrow() => {
                let free_in_ms = Some(free_in_ms);
                let taken = Granted { is_granted: false, fence: None, lease_ms: None, waited_ms, free_in_ms };
                return Ok(Json(taken).into_response());
            }
            Acquired::Taken { .. } => at.app.api.clock.sleep(PAUSE.min(until.since(at.app.api.clock.now()))).await,
        }
    }
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/locks/renew", operation_id = "renew_lock",
    tag = "programs", summary = "Renew the lease of a lock",
    request_body = Extension,
    responses((status = 200, description = "Done", body = Renewal), ActProblems)
)]
pub(super) async fn renew(at: OnSource, JsonBody(call): JsonBody<Extension>) -> Result<Json<Renewal>, Problem> {
    at.visitor.check(Action::Lock, &call.name)?;
    at.source()?;
    in_range("ttl_ms", call.ttl_ms, TTL_MS)?;
    let (name, owner) = (checked_name(&call.name)?, owner_of(&call.owner)?);
    let renewed = at.app.api.locks()?.renew(&name, owner, call.ttl_ms.into()).await;
    Ok(Json(match renewed.map_err(lock_problem)? {
        Renewed::Renewed { lease_left_ms } | Renewed::Held { lease_left_ms } => {
            Renewal { is_held: true, lease_ms: Some(lease_left_ms) }
        }
        Renewed::Lost => Renewal { is_held: false, lease_ms: None },
    }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/locks/release", operation_id = "release_lock",
    tag = "programs", summary = "Release a lock",
    request_body = Freeing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn release(at: OnSource, JsonBody(call): JsonBody<Freeing>) -> Result<Json<Changed>, Problem> {
    at.visitor.check(Action::Lock, &call.name)?;
    at.source()?;
    let (name, owner) = (checked_name(&call.name)?, owner_of(&call.owner)?);
    let release = Release { owner, process: owner, waits: false };
    let released = at.app.api.locks()?.release(&name, release).await.map_err(lock_problem)?;
    let result = match released {
        Released::Released { .. } => "released",
        Released::Lost => "lost",
        Released::Nothing => "free",
    };
    Ok(Json(Changed { result }))
}

/// Which lock.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Named {
    /// As programs have it, not as Redis shows it.
    #[param(value_type = LockNameText, inline)]
    name: String,
}

/// A lock and its holder.
#[derive(Serialize, ToSchema)]
pub(super) struct LockView {
    is_held: bool,
    fence: Option<Wide>,
    held_ms: Option<Wide>,
    /// What is left of the lease; 0: it has expired, and the lock delay runs.
    lease_left_ms: Option<Wide>,
    waiting: Option<Wide>,
    /// What the holder says of itself; with `bodies`.
    holder: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Breaking {
    #[schema(schema_with = lock_name)]
    name: String,
    /// The fencing token of the holder, as `GET locks` shows it: no later holder loses the lock.
    fence: Wide,
    /// The lock's name.
    confirm: String,
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/locks", operation_id = "show_lock",
    tag = "locks", summary = "Show the holder of a lock",
    params(Named),
    responses((status = 200, description = "Done", body = LockView), ReadProblems)
)]
pub(super) async fn show(at: OnSource, Query(Named { name }): Query<Named>) -> Result<Json<LockView>, Problem> {
    at.source()?;
    let name = checked_name(&name)?;
    let holder = at.app.source.keel.lock(name.as_str()).inspect().await.map_err(lock_problem)?;
    let of = |number: fn(&Holder) -> u64| holder.as_ref().map(number).map(Wide);
    Ok(Json(LockView {
        is_held: holder.is_some(),
        fence: of(|holder| holder.fence.0),
        held_ms: of(|holder| holder.held_ms),
        lease_left_ms: of(|holder| holder.lease_left_ms),
        waiting: of(|holder| holder.waiting),
        holder: holder.filter(|_| at.visitor.sees_bodies()).map(|holder| printable(&holder.metadata)),
    }))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/locks/break", operation_id = "break_lock",
    tag = "locks", summary = "Take a lock away from its holder, who learns of it at its next renewal",
    extensions(("x-refused-by-state" = json!(true))),
    request_body = Breaking,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn break_lock(at: OnSource, JsonBody(call): JsonBody<Breaking>) -> Result<Json<Changed>, Problem> {
    let (name, keel) = (checked_name(&call.name)?, &at.source()?.keel);
    at.perform(lock::break_lock(keel, name.as_str(), call.fence.0), &call.confirm).await?;
    Ok(Json(Changed { result: "broken" }))
}

fn checked_name(name: &str) -> Result<LockName, Problem> {
    LockName::new(name).map_err(|error| invalid("name", format!("{error}.")))
}

fn owner_of(text: &str) -> Result<Token, Problem> {
    let detail = "`owner` must have 32 hexadecimal digits, drawn at random for each acquisition.";
    token_of_hex(text).ok_or_else(|| invalid("owner", detail))
}
