//! Invalidates an entry of a cache.

use super::jobs::change::Changed;
use super::limits::cache_key;
use super::openapi::ActProblems;
use super::source;
use super::wide::Wide;
use crate::console::app::App;
use crate::console::rights::{Action, Visitor};
use crate::console::source::cache_problem;
use axum::Json;
use axum::extract::{Path, State};
use evenkeel::cache::Invalidated;
use evenkeel::cache::admin::{self, Mode};
use serde::Deserialize;
use serde_json::json;
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
    params(("source" = String, Path), ("cache" = String, Path, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$")),
    request_body = Outdated,
    responses((status = 200, description = "Done: `invalidated`, or `no_entry` if there was none", body = Changed), ActProblems)
)]
pub(super) async fn invalidate(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, cache)): Path<(String, String)>,
    JsonBody(outdated): JsonBody<Outdated>,
) -> Result<Json<Changed>, Problem> {
    visitor.check(Action::Invalidate, &cache)?;
    source(&app, &name)?;
    let mode = if outdated.purge { Mode::Purge } else { Mode::Expire { retain_ms: outdated.retain_ms.0 } };
    let admin = app.source.keel.cache_admin(&cache).map_err(|error| cache_problem("cache", &error))?;
    let lag_max = Duration::from_millis(outdated.lag_ms.0);
    let with = admin::Outdated { version: outdated.version.map(|version| version.0), mode, lag_max };
    let act = async {
        let done = admin.invalidate(&outdated.key, with).await;
        let result = |done| if done == Invalidated::NoEntry { "no_entry" } else { "invalidated" };
        done.map(|done| Changed { result: result(done) }).map_err(|error| cache_problem("key", &error))
    };
    app.act(&visitor, "invalidate", json!({ "cache": cache, "key": outdated.key }), act).await.map(Json)
}
