//! Writes that were accepted and could not be done, for those who look at the page.

use super::text;
use crate::http::App;
use crate::service::ServiceError;
use crate::store::KeptConflict;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use web::{Changed, Problem};

/// As many as the page shows; the API has more.
const SHOWN_MAX: u32 = 5;

/// The newest of them; nothing if there are none.
pub(super) async fn shown(app: &App) -> Result<Markup, Problem> {
    let kept = app.service.store().conflicts(SHOWN_MAX).await.map_err(ServiceError::from)?;
    Ok(html! {
        @if !kept.is_empty() {
            section.notice.bad id="conflicts" aria-label="Changes that could not be made" {
                p { strong { "Some changes were taken and could not be made." } " All of them: " a href="/api/conflicts" { "/api/conflicts" } "." }
                @for conflict in &kept { (row(conflict)) }
            }
        }
    })
}

fn row(conflict: &KeptConflict) -> Markup {
    let told = &conflict.told;
    html! {
        form.row method="post" action={ "/conflicts/" (conflict.number) } {
            span { span.code { (told.code) } " " (text::minute(told.noted_at)) " " (told.detail) }
            button.small type="submit" aria-label={ "Dismiss what could not be done to " (told.code) } { "Dismiss" }
        }
    }
}

/// `POST /conflicts/{number}`
pub(super) async fn dismiss(State(app): State<App>, Path(number): Path<i64>) -> Result<Response, Problem> {
    app.service.store().dismiss_conflict(number).await.map_err(ServiceError::from)?;
    Ok((Extension(Changed), Redirect::to("/")).into_response())
}
