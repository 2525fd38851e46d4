//! The page to create, find, edit and delete links: rendered here, one style sheet, a small script that nothing depends on.

mod asset;
mod docs;
mod edit;
mod fields;
mod home;
mod layout;
mod remove;
mod text;

pub(crate) use docs::docs;

use crate::http::{App, Problem};
use axum::Router;
use axum::routing::{get, post};
use layout::{Place, layout};
use maud::{Markup, html};

/// The routes of the page. Every form is sent with POST and answered with a redirection to what it made (so that a reload
/// repeats nothing), or with the form and what is wrong beside its fields.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/links", post(home::create))
        .route("/links/{code}", get(edit::show).post(edit::save))
        .route("/links/{code}/delete", get(remove::ask).post(remove::delete))
        .route("/assets/{file}", get(asset::give))
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
