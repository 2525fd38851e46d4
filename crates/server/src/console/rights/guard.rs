//! The guard in front of every route: who is it, may they, and does the request come from a page of ours.

use super::table::{Kind as RouteKind, Row};
use super::{Action, Via, Visitor};
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
    let Some(login) = &security.login else {
        let role = Some(super::Role::Admin);
        return Ok(Visitor { name: "local".to_owned(), role, via: Via::Loopback, csrf });
    };
    let nobody = Visitor { name: String::new(), role: None, via: Via::Nobody, csrf };
    if gate.row.action == Action::Public {
        return Ok(nobody);
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let entry = login.entry_of_header(value).ok_or_else(|| {
            Problem::new(UNAUTHORIZED, "The token in `Authorization` is not valid. Send `Authorization: Bearer TOKEN`.")
        })?;
        return Ok(Visitor { name: entry.name, role: Some(entry.role), via: Via::Token, ..nobody });
    }
    match login.entry_of_cookie(cookie) {
        Some(entry) => Ok(Visitor { name: entry.name, role: Some(entry.role), via: Via::Cookie, ..nobody }),
        None => Err(Problem::new(UNAUTHORIZED, "Log in first.")),
    }
}

fn forbidden(action: Action, visitor: &Visitor) -> Problem {
    let needed = action.least().map(|role| role.to_string()).unwrap_or_default();
    let has = visitor.role.map(|role| role.to_string()).unwrap_or_default();
    let what = action.phrase();
    Problem::new(
        FORBIDDEN,
        format!("To {what}, you need the role {needed}; {} has the role {has}. Nothing was changed.", visitor.name),
    )
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
        RouteKind::Page | RouteKind::Stream | RouteKind::Plain => Ok(request),
    }
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
