//! The guard in front of every route: who is it, may they, and does the request come from a page of ours.

use super::table::{Kind as RouteKind, Row};
use super::{Action, PAGE_FIELD, Rejected, Role, Via, Visitor};
use crate::console::api::too_many;
use crate::console::app::App;
use crate::console::security::session::{self, Cookie};
use crate::kind::{FORBIDDEN, NOT_OUR_PAGE, UNAUTHORIZED};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use url::form_urlencoded;
use web::Problem;

/// The name of the form field that carries the CSRF token.
pub(crate) const CSRF_FIELD: &str = "csrf";

/// An extension of the response of a form: what the page that it leads to shows once.
#[derive(Clone, Debug)]
pub(crate) struct Notice(pub(crate) String);

/// What the guard of one route knows.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) app: App,
    pub(super) row: Row,
}

/// Middleware of one route.
pub(super) async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let cookie = session::read(request.headers(), &gate.app.security);
    let (cookie, is_new) = match cookie {
        Some(cookie) => (cookie, false),
        None => (Cookie::anonymous(), true),
    };
    let mut visitor = match recognize(&gate, request.headers(), &cookie) {
        Ok(visitor) => visitor,
        Err(problem) => return refused(&gate, &request, problem),
    };
    if !visitor.may(gate.row.action) {
        return refused(&gate, &request, forbidden(gate.row.action, &visitor));
    }
    if gate.row.kind == RouteKind::Form {
        return form(&gate, visitor, &cookie, request, next).await;
    }
    if gate.row.kind.is_api()
        && let Err(problem) = prove_api(&gate, &visitor, &request)
    {
        return problem.into_response();
    }
    if gate.row.kind.is_api()
        && let Err(wait) = gate.app.api.rates.take(&visitor)
    {
        return too_many("Too many requests of this key.", wait);
    }
    let mut request = request;
    let security = &gate.app.security;
    let is_page = gate.row.kind == RouteKind::Page;
    let has_notice = is_page && session::has_notice(request.headers(), security);
    if is_page {
        visitor.page = address(&request);
        visitor.notice = session::notice(request.headers(), &cookie, security);
        visitor.rejected = request.extensions_mut().remove::<Arc<Rejected>>();
    }
    request.extensions_mut().insert(visitor);
    request.extensions_mut().insert(cookie.clone());
    let mut response = next.run(request).await;
    // The cookie of a first visit carries the CSRF token of the page's forms.
    if is_page && !response.headers().contains_key(header::SET_COOKIE) {
        let new = is_new.then(|| session::set(&cookie, security)).flatten();
        // A notice is shown once.
        let shown = has_notice.then(|| session::set_notice("", &cookie, security)).flatten();
        new.into_iter().chain(shown).for_each(|value| _ = response.headers_mut().append(header::SET_COOKIE, value));
    }
    response
}

/// The path and the query of a request.
fn address(request: &Request) -> String {
    request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned()
}

/// Handles a form of a page of ours. One that is rejected leads back to its page, with what was typed.
async fn form(gate: &Gate, mut visitor: Visitor, cookie: &Cookie, request: Request, next: Next) -> Response {
    let (action, headers) = (request.uri().path().to_owned(), request.headers().clone());
    if let Err(problem) = prove_origin(gate, &headers) {
        return problem.into_response();
    }
    let (parts, body) = request.into_parts();
    let whole = match Bytes::from_request(Request::from_parts(parts.clone(), body), &gate.app).await {
        Ok(whole) => whole,
        Err(rejection) => return Problem::of_status(rejection.into_response().status()).into_response(),
    };
    // A form that is answered with a page, such as the one of the checks, has forms itself.
    visitor.page = field(&whole, PAGE_FIELD).unwrap_or_default();
    let response = match prove_token(&visitor, &whole) {
        Err(problem) => problem.into_response(),
        Ok(()) => {
            let mut request = Request::from_parts(parts, Body::from(whole.clone()));
            request.extensions_mut().insert(visitor);
            request.extensions_mut().insert(cookie.clone());
            next.run(request).await
        }
    };
    if let Some(problem) = response.extensions().get::<Problem>() {
        let rejected = Rejected::new(&action, &whole, problem.clone());
        let Some(mut page) = rejected.page(&gate.app, &headers).await else { return response };
        page.headers_mut()
            .extend(response.headers().get(header::RETRY_AFTER).map(|value| (header::RETRY_AFTER, value.clone())));
        return page;
    }
    let mut response = response;
    let notice =
        response.extensions().get().and_then(|Notice(text)| session::set_notice(text, cookie, &gate.app.security));
    response.headers_mut().extend(notice.map(|value| (header::SET_COOKIE, value)));
    response
}

/// Who sent the request.
fn recognize(gate: &Gate, headers: &HeaderMap, cookie: &Cookie) -> Result<Visitor, Problem> {
    let security = &gate.app.security;
    let anonymous = Visitor::anonymous(session::csrf(cookie, security));
    let Some(login) = &security.login else {
        return Ok(Visitor { name: "local".to_owned(), role: Some(Role::Admin), via: Via::Loopback, ..anonymous });
    };
    if gate.row.action == Action::Public {
        return Ok(anonymous);
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let entry = login.entry_of_header(value).ok_or_else(|| {
            Problem::new(UNAUTHORIZED, "The token in `Authorization` is not valid. Send `Authorization: Bearer TOKEN`.")
        })?;
        let (scopes, per_second) = (entry.scopes, entry.per_second);
        return Ok(Visitor { name: entry.name, role: entry.role, via: Via::Token, scopes, per_second, ..anonymous });
    }
    if gate.row.kind.is_api() {
        // A cookie does not count: a browser sends it along with requests that other sites make.
        return Err(Problem::new(UNAUTHORIZED, "The API needs a token. Send `Authorization: Bearer TOKEN`."));
    }
    match login.entry_of_cookie(cookie) {
        Some(entry) => Ok(Visitor { name: entry.name, role: entry.role, via: Via::Cookie, ..anonymous }),
        None => Err(Problem::new(UNAUTHORIZED, "Log in first.")),
    }
}

/// Names what is missing: a role for people, a scope for API keys and for what only programs do.
pub(super) fn forbidden(action: Action, visitor: &Visitor) -> Problem {
    let (what, name) = (action.phrase(), &visitor.name);
    let detail = match (action.least(), visitor.role) {
        (Some(needed), Some(has)) => {
            format!("To {what}, you need the role {needed}; {name} has the role {has}. Nothing was changed.")
        }
        _ => format!(
            "To {what}, a key needs the scope `{}`; {name} does not have it. Nothing was changed.",
            action.scope()
        ),
    };
    Problem::new(FORBIDDEN, detail)
}

/// A page redirects to the login; everything else gets the problem.
fn refused(gate: &Gate, request: &Request, problem: Problem) -> Response {
    if problem.kind() == UNAUTHORIZED && gate.row.kind == RouteKind::Page {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", &address(request)).finish();
        return Redirect::to(&format!("/login?{query}")).into_response();
    }
    let is_unauthorized = problem.kind() == UNAUTHORIZED;
    let mut response = problem.into_response();
    if is_unauthorized {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A token in `Authorization` proves a call of the API, because no page can make a browser send it. Without a login a page of another site
/// must not act: it can send neither JSON without asking first, nor hide its `Origin`.
fn prove_api(gate: &Gate, visitor: &Visitor, request: &Request) -> Result<(), Problem> {
    if visitor.via != Via::Loopback {
        return Ok(());
    }
    let headers = request.headers();
    let is_own = |origin| gate.app.security.hosts.is_own_origin(origin, headers);
    if !headers.get(header::ORIGIN).is_none_or(is_own) {
        let detail = "The check of `Origin` failed: a page of another site sent this request. Nothing was changed.";
        return Err(Problem::new(NOT_OUR_PAGE, detail));
    }
    let media_type = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
    let is_json = media_type.is_some_and(|value| value.starts_with(b"application/json"));
    if gate.row.kind == RouteKind::ApiAct && !is_json {
        let detail = "The check of `Content-Type` failed: send `Content-Type: application/json`. Nothing was changed.";
        return Err(Problem::new(NOT_OUR_PAGE, detail));
    }
    Ok(())
}

/// The first field of this name of a form.
fn field(body: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(body).find(|(field, _)| field == name).map(|(_, value)| value.into_owned())
}

/// A form needs our own `Origin`.
fn prove_origin(gate: &Gate, headers: &HeaderMap) -> Result<(), Problem> {
    if headers.get(header::ORIGIN).is_some_and(|origin| gate.app.security.hosts.is_own_origin(origin, headers)) {
        return Ok(());
    }
    let detail = "The check of `Origin` failed: this form was not sent by a page of this console. Open the page here and send it \
                  again. Nothing was changed.";
    Err(Problem::new(NOT_OUR_PAGE, detail))
}

/// A form needs the CSRF token of its cookie.
fn prove_token(visitor: &Visitor, body: &[u8]) -> Result<(), Problem> {
    if field(body, CSRF_FIELD).is_some_and(|sent| session::is_equal(&sent, &visitor.csrf)) {
        return Ok(());
    }
    let detail = "The check of the CSRF token failed: the page is older than its cookie, or the browser refused the cookie. Go back, \
                  reload the page and send the form again. Nothing was changed.";
    Err(Problem::new(NOT_OUR_PAGE, detail))
}
