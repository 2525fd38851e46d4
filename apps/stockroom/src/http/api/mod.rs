//! The JSON API: `/api/arrivals`, `/api/products`, `/api/orders`, `/api/payments` and `/api/audit`.

mod arrivals;
mod audit;
mod body;
mod orders;
mod payments;
mod products;

pub(crate) use body::{day, page, strategy};

use super::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes below `/api`.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(arrivals::create, arrivals::list))
        .routes(routes!(products::add, products::list))
        .routes(routes!(products::read))
        .routes(routes!(orders::create))
        .routes(routes!(orders::read))
        .routes(routes!(orders::release))
        .routes(routes!(payments::pay))
        .routes(routes!(payments::events))
        .routes(routes!(payments::payment))
        .routes(routes!(audit::audit))
}
