//! Invalidates an entry of a cache.

use super::OnSource;
use super::jobs::change::Changed;
use super::limits::cache_key;
use super::openapi::ActProblems;
use super::wide::Wide;
use crate::console::source::cache_problem;
use crate::operations;
use axum::Json;
use evenkeel::cache::admin::{self, Mode};
use serde::Deserialize;
use std::time::Duration;
use utoipa::ToSchema;
use web::{JsonBody, Problem};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Outdated {
    #[schema(schema_with = cache_key)]
    key: String,
    /// The new version of the row: no older one is stored from now on.
    version: Option<Wide>,
    /// How long the old value may be served while one reader loads the new one: at most 2^40 ms.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^[0-9]{1,12}$")]
    retain_ms: Wide,
    /// How far the replicas that loaders read may lag behind; 0: the primary is read, or the entry knows. At most 2^40 ms.
    #[serde(default)]
    #[schema(value_type = String, pattern = "^[0-9]{1,12}$")]
    lag_ms: Wide,
    /// The old value is never served again, not even to a reader whose load fails.
    #[serde(default)]
    purge: bool,
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/caches/{cache}/invalidate", operation_id = "invalidate_entry",
    tag = "programs", summary = "Invalidate an entry of a cache",
    request_body = Outdated,
    responses((status = 200, description = "Done: `invalidated`, or `no_entry` if there was none", body = Changed), ActProblems)
)]
pub(super) async fn invalidate(at: OnSource, JsonBody(outdated): JsonBody<Outdated>) -> Result<Json<Changed>, Problem> {
    let cache = at.names.cache.as_str();
    let mode = if outdated.purge { Mode::Purge } else { Mode::Expire { retain_ms: outdated.retain_ms.0 } };
    let admin = at.source()?.keel.cache_admin(cache).map_err(|error| cache_problem("cache", &error))?;
    let lag_max = Duration::from_millis(outdated.lag_ms.0);
    let with = admin::Outdated { version: outdated.version.map(|version| version.0), mode, lag_max };
    at.changed(operations::invalidate(&admin, (cache, &outdated.key), with), "").await
}
