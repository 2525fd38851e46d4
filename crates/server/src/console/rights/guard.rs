//! The guard in front of every route: who is it, may they, and does the request come from a page of ours.

use super::table::{Kind as RouteKind, Row};
use super::{Action, Role, Via, Visitor};
use crate::console::api::too_many;
use crate::console::app::App;
use crate::console::kind::{FORBIDDEN, NOT_OUR_PAGE, UNAUTHORIZED};
use crate::console::security::session::{self, Cookie};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use url::form_urlencoded;
use web::Problem;

/// The name of the form field that carries the CSRF token.
pub(crate) const CSRF_FIELD: &str = "csrf";

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
    let visitor = match recognize(&gate, request.headers(), &cookie) {
        Ok(visitor) => visitor,
        Err(problem) => return refused(&gate, &request, problem),
    };
    if !visitor.may(gate.row.action) {
        return refused(&gate, &request, forbidden(gate.row.action, &visitor));
    }
    let request = match prove(&gate, &visitor, request).await {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    if gate.row.kind.is_api()
        && let Err(wait) = gate.app.api.rates.take(&visitor)
    {
        return too_many("Too many requests of this key.", wait);
    }
    let mut request = request;
    request.extensions_mut().insert(visitor);
    request.extensions_mut().insert(cookie.clone());
    let mut response = next.run(request).await;
    // The cookie of a first visit carries the CSRF token of the page's forms.
    let is_page = gate.row.kind == RouteKind::Page && !response.headers().contains_key(header::SET_COOKIE);
    if is_new
        && is_page
        && let Some(value) = session::set(&cookie, &gate.app.security)
    {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

/// Who sent the request.
fn recognize(gate: &Gate, headers: &HeaderMap, cookie: &Cookie) -> Result<Visitor, Problem> {
    let security = &gate.app.security;
    let csrf = session::csrf(cookie, security);
    let (scopes, per_second) = (Vec::new(), None);
    let anonymous = Visitor { name: String::new(), role: None, via: Via::Anonymous, scopes, per_second, csrf };
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
        let here = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", here).finish();
        return Redirect::to(&format!("/login?{query}")).into_response();
    }
    let is_unauthorized = problem.kind() == UNAUTHORIZED;
    let mut response = problem.into_response();
    if is_unauthorized {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Checks that an unsafe request comes from a page of ours.
async fn prove(gate: &Gate, visitor: &Visitor, request: Request) -> Result<Request, Problem> {
    match gate.row.kind {
        RouteKind::Form => prove_form(gate, visitor, request).await,
        RouteKind::ApiRead | RouteKind::ApiAct => prove_api(gate, visitor, &request).map(|()| request),
        RouteKind::Page | RouteKind::Stream | RouteKind::Plain => Ok(request),
    }
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

/// A form needs our own `Origin` and the CSRF token of its cookie.
async fn prove_form(gate: &Gate, visitor: &Visitor, request: Request) -> Result<Request, Problem> {
    let own = |origin| gate.app.security.hosts.is_own_origin(origin, request.headers());
    if !request.headers().get(header::ORIGIN).is_some_and(own) {
        let detail = "The check of `Origin` failed: this form was not sent by a page of this console. Open the page here and send it \
                      again. Nothing was changed.";
        return Err(Problem::new(NOT_OUR_PAGE, detail));
    }
    let (parts, body) = request.into_parts();
    let whole = Bytes::from_request(Request::from_parts(parts.clone(), body), &gate.app);
    let body = whole.await.map_err(|rejection| Problem::of_status(rejection.into_response().status()))?;
    let sent = form_urlencoded::parse(&body).find(|(name, _)| name == CSRF_FIELD).map(|(_, value)| value.into_owned());
    if !sent.is_some_and(|sent| session::is_equal(&sent, &visitor.csrf)) {
        let detail = "The check of the CSRF token failed: the page is older than its cookie, or the browser refused the cookie. Go back, \
                      reload the page and send the form again. Nothing was changed.";
        return Err(Problem::new(NOT_OUR_PAGE, detail));
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}
