//! The page: stock, goods to be received, orders, and what arrived. Rendered here, with one style sheet and without a script.

mod home;
mod lists;
mod orders;
mod typed;

use crate::http::App;
use axum::Router;
use axum::routing::{get, post};
use rust_embed::RustEmbed;
use web::site::Site;

/// The files of this page alone.
#[derive(RustEmbed)]
#[folder = "assets/"]
pub(crate) struct Assets;

impl Site for Assets {
    const NAME: &'static str = env!("CARGO_PKG_NAME");
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const HOME: &'static str = "Stock";
    const BACK: &'static str = "The stockroom";
    const EXAMPLE: &'static str = "curl -s {base}/api/arrivals \\\n  -H 'content-type: application/json' \\\n  -d '{\"commodityName\": \"apples\", \"quantity\": 120}'";
    const STYLES: &'static [&'static str] = &["stock.css"];
}

/// The routes of the page. Every form is sent with POST and answered with a redirection (so that a reload repeats nothing), or with
/// the form and what is wrong beside its fields.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/arrivals", post(home::arrive))
        .route("/products", post(home::add))
        .route("/samples", post(home::add_samples))
        .route("/orders", post(orders::reserve))
        .route("/orders/{id}/release", post(orders::release))
        .route("/assets/{file}", get(web::asset::give::<Assets>))
}
