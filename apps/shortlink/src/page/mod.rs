//! The page to create, find, edit, ban and delete links: rendered here, one style sheet, a small script that nothing depends on.

mod ban;
mod conflicts;
mod edit;
mod fields;
mod home;
mod layout;
mod remove;
mod text;

use crate::http::App;
use axum::Router;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use layout::{Place, layout};
use maud::{Markup, html};
use rust_embed::RustEmbed;
use web::{Kind, Problem};

/// The files of this page alone.
#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

const EXAMPLE: &str = "curl -s http://127.0.0.1:8080/api/links \\\n  -H 'content-type: application/json' \\\n  -d '{\"target\": \"https://www.rfc-editor.org/rfc/rfc9457.html\", \"alias\": \"problems\"}'";

/// The routes of the page. Every form is sent with POST and answered with a redirection to what it made (so that a reload
/// repeats nothing), or with the form and what is wrong beside its fields.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/links", post(home::create))
        .route("/links/{code}", get(edit::show).post(edit::save))
        .route("/links/{code}/delete", get(remove::ask).post(remove::delete))
        .route("/links/{code}/ban", post(ban::set))
        .route("/conflicts/{number}", post(conflicts::dismiss))
        .route("/assets/{file}", get(give))
}

/// The OpenAPI document for people; it does not change while the program runs.
pub(crate) fn docs(document: &utoipa::openapi::OpenApi, kinds: &[Kind]) -> Markup {
    layout("API", Place::Documentation, &web::docs::body(document, EXAMPLE, kinds))
}

/// A problem as a page, for those who asked for one.
pub(crate) fn problem(problem: &Problem) -> Markup {
    let body = html! {
        section.card.narrow {
            h1 { (problem.title()) }
            p { (problem.detail()) }
            p.hint { "Status " (problem.status().as_u16()) }
            div.actions { a.button href="/" { "All links" } }
        }
    };
    layout(problem.title(), Place::Elsewhere, &body)
}

/// `GET /assets/{file}`
async fn give(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    web::asset::give::<Assets>(&file, &headers)
}
