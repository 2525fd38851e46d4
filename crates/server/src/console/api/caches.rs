//! Invalidates an entry of a cache.

use super::change::Changed;
use super::openapi::ActProblems;
use super::source;
use super::wide::Wide;
use crate::console::app::App;
use crate::console::kind::INVALID_INPUT;
use crate::console::rights::{Action, Visitor};
use axum::Json;
use axum::extract::{Path, State};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::redis::RedisCache;
use evenkeel_protocol::cache::steps::{CacheSteps, Generation, Invalidation, Mode, SPAN_MS_MAX};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use web::{JsonBody, Kind, Problem};

const KEY_BYTES_MAX: usize = 4_096;
const NAME_BYTES_MAX: usize = 256;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Outdated {
    /// The key, as its text is written in Redis.
    key: String,
    /// The new version of the row: no older one is stored from now on.
    version: Option<Wide>,
    /// How long the old value may be served while one reader loads the new one.
    #[serde(default)]
    retain_ms: Wide,
    /// How far the replicas that loaders read may lag behind; 0: loaders read the primary.
    #[serde(default)]
    lag_ms: Wide,
    /// The old value is never served again, not even to a reader whose load fails.
    #[serde(default)]
    purge: bool,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/caches/{cache}/invalidate", tag = "programs", summary = "Invalidate an entry of a cache",
    params(("source" = String, Path), ("cache" = String, Path)),
    request_body = Outdated,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn invalidate(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, cache)): Path<(String, String)>,
    JsonBody(outdated): JsonBody<Outdated>,
) -> Result<Json<Changed>, Problem> {
    visitor.check(Action::Invalidate, &cache)?;
    source(&app, &name)?;
    let refuse = |field: &str, detail: String| Err(Problem::of_field(INVALID_INPUT, field, detail));
    if cache.is_empty() || cache.len() > NAME_BYTES_MAX || cache.contains(['{', '}', ':']) {
        return refuse(
            "cache",
            format!("The name of a cache has 1 to {NAME_BYTES_MAX} bytes, without braces and colons."),
        );
    }
    if outdated.key.is_empty() || outdated.key.len() > KEY_BYTES_MAX {
        return refuse("key", format!("`key` must have 1 to {KEY_BYTES_MAX} bytes."));
    }
    if outdated.retain_ms.0 > SPAN_MS_MAX || outdated.lag_ms.0 > SPAN_MS_MAX {
        return refuse("retain_ms", format!("`retain_ms` and `lag_ms` must be at most {SPAN_MS_MAX}."));
    }
    let mode = if outdated.purge { Mode::Purge } else { Mode::Expire { retain_ms: outdated.retain_ms.0 } };
    let invalidation = Invalidation {
        generation: Generation::random(),
        floor: outdated.version.map(|version| version.0),
        mode,
        lag_ms_max: outdated.lag_ms.0,
    };
    let link = app.api.link()?;
    let steps = RedisCache::new(link.clone(), CacheKeys::new(link.prefix(), &cache));
    let act = async {
        let done = steps.invalidate(outdated.key.as_bytes(), &invalidation).await;
        done.map(|()| Changed { result: "invalidated" }).map_err(|error| cache_problem(&error))
    };
    app.act(&visitor, "invalidate", json!({ "cache": cache, "key": outdated.key }), act).await.map(Json)
}

fn cache_problem(error: &CacheError) -> Problem {
    let kind = if error.outcome_unknown() { Kind::OUTCOME_UNKNOWN } else { Kind::UNAVAILABLE };
    Problem::new(kind, format!("{}. Send the same request again.", error.to_string().trim_end_matches('.')))
}
