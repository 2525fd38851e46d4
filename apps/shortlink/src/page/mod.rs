//! The web page to create, find, edit, ban and delete links. It is rendered here and works without its small script.

mod ban;
mod clicks;
mod conflicts;
mod edit;
mod fields;
mod home;
mod remove;
mod text;

use crate::http::App;
use axum::routing::{MethodRouter, get, post};
use rust_embed::RustEmbed;
use web::site::Site;

/// The assets of this page; `web` adds the style sheet that the applications share.
#[derive(RustEmbed)]
#[folder = "assets/"]
pub(crate) struct Assets;

impl Site for Assets {
    const NAME: &'static str = env!("CARGO_PKG_NAME");
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const HOME: &'static str = "Links";
    const BACK: &'static str = "All links";
    const EXAMPLE: &'static str = "curl -s {base}/api/links \\\n  -H 'content-type: application/json' \\\n  -d '{\"target\": \"https://www.rfc-editor.org/rfc/rfc9457.html\", \"alias\": \"problems\"}'";
    const STYLES: &'static [&'static str] = &["links.css"];
    const SCRIPTS: &'static [&'static str] = &["page.js"];
}

/// The routes of the page. A form is submitted with POST and answered with a redirect (so that a reload repeats nothing), or
/// with the form again and the errors next to its fields.
pub(crate) fn routes() -> impl Iterator<Item = (&'static str, MethodRouter<App>)> {
    let routes = [
        ("/", get(home::show)),
        ("/links", post(home::create)),
        ("/links/{code}", get(edit::show).post(edit::save)),
        ("/links/{code}/delete", get(remove::ask).post(remove::delete)),
        ("/links/{code}/ban", post(ban::set)),
        ("/conflicts/{number}", post(conflicts::dismiss)),
        ("/assets/{file}", get(web::asset::serve::<Assets>)),
    ];
    routes.into_iter()
}
