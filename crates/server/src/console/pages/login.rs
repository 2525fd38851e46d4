//! `/login` and `/logout`.

use super::layout::{csrf, page};
use crate::console::app::App;
use crate::console::rights::Visitor;
use crate::console::security::{login::cookie_id, session};
use crate::kind::{TOO_MANY, UNAUTHORIZED};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Form, Problem, Query};

#[derive(Default, Deserialize)]
pub(super) struct Next {
    /// The page to show after the login.
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(super) struct Input {
    token: String,
    #[serde(default)]
    next: String,
}

pub(super) async fn show(State(app): State<App>, visitor: Visitor, Query(Next { next }): Query<Next>) -> Markup {
    let body = html! {
        section.card.narrow {
            h1 { "Log in" }
            p.lead { "With a token that " code { "evenkeel token new" } " printed." }
            form method="post" action="/login" {
                (csrf(&visitor))
                input type="hidden" name="next" value=(next);
                // A token has no user name; browsers ask for a field of one next to a password.
                input type="text" name="username" value="token" autocomplete="username" hidden;
                div.field { label for="token" { "Token" } input type="password" id="token" name="token" required autocomplete="current-password"; }
                div.actions { button.primary { "Log in" } }
            }
        }
    };
    page(&app, &visitor, "Log in", &body)
}

pub(super) async fn login(State(app): State<App>, Form(input): Form<Input>) -> Result<Response, Problem> {
    let Some(login) = &app.security.login else { return Ok(Redirect::to("/").into_response()) };
    // An API key of a program has no role, and does not log in.
    let entry = login.entry_of_token(input.token.trim()).filter(|entry| entry.role.is_some());
    let Some(entry) = entry else { return Ok(refuse(login.fail())) };
    let cookie = session::Cookie::login(&cookie_id(&entry));
    let mut response = Redirect::to(own_path(&input.next)).into_response();
    if let Some(value) = session::set(&cookie, &app.security) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

fn refuse(wait: Option<std::time::Duration>) -> Response {
    let Some(wait) = wait else {
        return Problem::new(UNAUTHORIZED, "The token is not valid. Check that it was copied whole.").into_response();
    };
    let seconds = wait.as_secs() + 1;
    let mut response =
        Problem::new(TOO_MANY, format!("Too many wrong tokens: try again in {seconds} s.")).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

pub(super) async fn logout(State(app): State<App>) -> Response {
    let mut response = Redirect::to("/login").into_response();
    if let Some(value) = session::delete(&app.security) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

/// Only paths of this console: `//host` and `/\host` lead elsewhere.
fn own_path(next: &str) -> &str {
    let is_own = next.starts_with('/') && !next[1..].starts_with(['/', '\\']) && !next.contains(char::is_control);
    if is_own { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn login_leads_to_own_pages_only() {
        assert_eq!(own_path("/queues/mail?done=1"), "/queues/mail?done=1");
        for foreign in ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nb"] {
            assert_eq!(own_path(foreign), "/", "{foreign:?}");
        }
    }
}
