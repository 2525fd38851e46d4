//! The page: stock, forms for deliveries and orders, and the list of arrivals. Rendered on the server, without scripts.

mod forms;
mod home;
mod lists;
mod order;
mod orders;

use crate::http::App;
use axum::Router;
use axum::routing::{get, post};
use rust_embed::RustEmbed;
use web::site::Site;

/// The embedded assets of this page.
#[derive(RustEmbed)]
#[folder = "assets/"]
pub(crate) struct Assets;

impl Site for Assets {
    const NAME: &'static str = env!("CARGO_PKG_NAME");
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const HOME: &'static str = "Stock";
    const BACK: &'static str = "Back to the stock";
    const EXAMPLE: &'static str = "curl -s {base}/api/arrivals \\\n  -H 'content-type: application/json' \\\n  -d '{\"commodityName\": \"apples\", \"quantity\": 120}'";
    const STYLES: &'static [&'static str] = &["stock.css"];
}

/// The routes of the page. A successful POST redirects, so that a reload does not repeat it; a failed one renders the form with the
/// error at its field.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/arrivals", post(home::receive))
        .route("/products", post(home::add))
        .route("/samples", post(home::add_samples))
        .route("/orders", post(orders::reserve))
        .route("/orders/{id}", get(order::show))
        .route("/orders/{id}/pay", post(order::pay))
        .route("/orders/{id}/release", post(orders::release))
        .route("/assets/{file}", get(web::asset::serve::<Assets>))
}
