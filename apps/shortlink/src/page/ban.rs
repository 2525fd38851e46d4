//! The ban button of a link's page.

use crate::domain::Link;
use crate::http::{App, unknown_code};
use crate::service::DraftPatch;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Changed, Form, Host, Problem};

/// The form that the button submits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ban {
    banned: bool,
}

/// The button that bans a link, or lifts its ban.
pub(super) fn button(link: &Link) -> Markup {
    html! {
        form method="post" action={ "/links/" (link.code) "/ban" } {
            input type="hidden" name="banned" value=(!link.banned);
            @if link.banned {
                button id="ban" type="submit" { "Lift the ban" }
            } @else {
                button.danger id="ban" type="submit" title="Visitors get an error page (410 Gone)" { "Ban this link" }
            }
        }
    }
}

/// `POST /links/{code}/ban`
pub(super) async fn set(
    State(app): State<App>,
    host: Host,
    Path(code): Path<String>,
    Form(Ban { banned }): Form<Ban>,
) -> Result<Response, Problem> {
    let patch = DraftPatch { banned: Some(banned), ..DraftPatch::default() };
    let written = app.service.patch(&code, &patch, None, host.as_str()).await?.ok_or_else(|| unknown_code(&code))?;
    let to = format!("/?{}={code}", if banned { "banned" } else { "unbanned" });
    Ok((Extension(written.consistency), Extension(Changed), Redirect::to(&to)).into_response())
}
