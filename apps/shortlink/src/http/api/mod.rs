//! The JSON API: `/api/links`, `/api/import`, `/api/export` and `/api/conflicts`.

mod body;
pub mod bulk;
mod clicks;
mod conflicts;
mod etag;
mod links;

use super::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes below `/api`.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(links::create, links::list))
        .routes(routes!(links::read, links::change, links::remove))
        .routes(routes!(clicks::read))
        .routes(routes!(conflicts::list))
        .routes(routes!(conflicts::dismiss))
        .routes(routes!(bulk::import))
        .routes(routes!(bulk::export))
}
