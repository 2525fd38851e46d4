//! Conflicts of `--write-mode behind`, as a notice on the home page.

use super::text;
use crate::http::App;
use crate::service::ServiceError;
use crate::store::RecordedConflict;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::{Changed, Problem};

/// Conflicts on the page; the API lists more.
const SHOWN_MAX: u32 = 5;

/// The newest conflicts; empty if there are none.
pub(super) async fn shown(app: &App) -> Result<Markup, Problem> {
    let kept = app.service.store().conflicts(SHOWN_MAX).await.map_err(ServiceError::from)?;
    Ok(html! {
        @if !kept.is_empty() {
            section.notice.bad id="conflicts" aria-label="Changes that could not be applied" {
                p { strong { "Some accepted changes could not be applied." } " Full list: " a href="/api/conflicts" { "/api/conflicts" } "." }
                @for conflict in &kept { (row(conflict)) }
            }
        }
    })
}

fn row(conflict: &RecordedConflict) -> Markup {
    let details = &conflict.details;
    html! {
        form.row method="post" action={ "/conflicts/" (conflict.number) } {
            span { span.code { (details.code) } " " (text::minute(details.noted_at)) " " (details.detail) }
            button.small type="submit" aria-label={ "Dismiss the conflict about " (details.code) } { "Dismiss" }
        }
    }
}

/// `POST /conflicts/{number}`
pub(super) async fn dismiss(State(app): State<App>, Path(number): Path<i64>) -> Result<Response, Problem> {
    app.service.store().dismiss_conflict(number).await.map_err(ServiceError::from)?;
    Ok((Extension(Changed), Redirect::to("/")).into_response())
}
