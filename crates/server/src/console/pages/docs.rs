//! `/docs`: where the API is described, and the problem types at the addresses that `type` names.

use super::layout::page;
use crate::console::app::App;
use crate::console::rights::Visitor;
use crate::kind::OWN;
use axum::extract::State;
use maud::{Markup, html};
use web::pages::docs::problems;

pub(super) async fn show(State(app): State<App>, visitor: Visitor) -> Markup {
    let body = html! {
        h1 { "API" }
        p { "For programs: the " a href="/api/v1/openapi.json" { "OpenAPI document" } "." }
        (problems(OWN))
    };
    page(&app, &visitor, "API", &body)
}
