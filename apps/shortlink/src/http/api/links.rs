//! `/api/links` and `/api/links/{code}`.

use super::body::{ChangeLink, CreateLink, LinkBody, LinkPage, ListQuery};
use super::etag::{self, IfMatch};
use crate::http::App;
use crate::http::openapi::{AliasProblems, ListProblems, ReadProblems, RemoveProblems, WriteProblems};
use crate::http::unknown_code;
use crate::service::Written;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, Consistency, Host, JsonBody, Problem, Query};

/// Create a link
///
/// Once the response is `consistent`, every instance redirects it.
#[utoipa::path(
    post, path = "/api/links", tag = "links", request_body = CreateLink,
    extensions(("x-refused-by-state" = json!(true))),
    responses(
        (status = 201, description = "The link was created", body = LinkBody, headers(
            ("location" = String, description = "API path of the link"),
            ("etag" = String, description = "Its version, for `If-Match`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "Accepted: the link is on this instance's disk and not in the database yet \
            (`--write-mode behind`). Same headers and body as 201.", body = LinkBody, headers(
            ("x-consistency-state" = String, description = "`eventual`"))),
        AliasProblems,
        WriteProblems,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    host: Host,
    JsonBody(body): JsonBody<CreateLink>,
) -> Result<Response, Problem> {
    let written = app.service.create(&body.draft(), host.as_str()).await?;
    let location = HeaderValue::try_from(format!("/api/links/{}", written.value.code)).ok();
    let headers = location.map(|location| [(header::LOCATION, location)]);
    let body = LinkBody::new(&written.value, &app.own, &host);
    Ok((status(&written, StatusCode::CREATED), headers, outcome(&written), tagged(body)).into_response())
}

/// List or search links
///
/// Newest first, in numbered pages. `q` searches codes and targets.
#[utoipa::path(
    get, path = "/api/links", tag = "links", params(ListQuery),
    extensions(("x-refused-by-state" = json!(true))),
    responses((status = 200, description = "A page of links", body = LinkPage), ListProblems)
)]
pub(super) async fn list(
    State(app): State<App>,
    host: Host,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let request = query.request()?;
    let page = app.service.list(&request).await?;
    let body = LinkPage::new(&page, &request, &app.own, &host);
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
}

/// Read a link
///
/// From the database. Expired and banned links can be read as well.
#[utoipa::path(
    get, path = "/api/links/{code}", tag = "links",
    params(("code" = String, Path, description = "Code or alias, case-sensitive")),
    responses(
        (status = 200, description = "The link", body = LinkBody, headers(
            ("etag" = String, description = "Its version, for `If-Match`"))),
        ReadProblems,
    )
)]
pub(super) async fn read(State(app): State<App>, host: Host, Path(code): Path<String>) -> Result<Response, Problem> {
    let link = app.service.get(&code).await?.ok_or_else(|| unknown_code(&code))?;
    Ok(tagged(LinkBody::new(&link, &app.own, &host)).into_response())
}

/// Change a link
///
/// A JSON merge patch: an omitted field keeps its value, `"expires_at": null` removes the expiry, `"banned": true` bans the link. Once
/// the response is `consistent`, no instance serves the former target.
#[utoipa::path(
    patch, path = "/api/links/{code}", tag = "links", request_body = ChangeLink,
    extensions(("x-refused-by-state" = json!(true))),
    params(
        ("code" = String, Path, description = "Code or alias, case-sensitive"),
        ("if-match" = Option<String>, Header, pattern = r#"^(\*|"[0-9]+"(, ?"[0-9]+")*)$"#, description = "Change the link only if it has this `ETag`, or one of a list"),
    ),
    responses(
        (status = 200, description = "The changed link", body = LinkBody, headers(
            ("etag" = String, description = "Its version, for `If-Match`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "Accepted: the change is on this instance's disk and not in the database yet \
            (`--write-mode behind`). Same headers and body as 200; no body if the database could not be read.",
            body = LinkBody, headers(("x-consistency-state" = String, description = "`eventual`"))),
        (status = 404, description = "No such link", body = Problem, content_type = "application/problem+json"),
        (status = 412, description = "The link has another version than `If-Match` names", body = Problem, content_type = "application/problem+json"),
        WriteProblems,
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    host: Host,
    Path(code): Path<String>,
    accepted: IfMatch,
    JsonBody(body): JsonBody<ChangeLink>,
) -> Result<Response, Problem> {
    let patch = body.draft()?;
    let expected = accepted.expected(&app.service, &code).await?;
    let changed = app.service.patch(&code, &patch, expected, host.as_str()).await?;
    let written = changed.ok_or_else(|| unknown_code(&code))?;
    let body = written.value.as_ref().map(|link| tagged(LinkBody::new(link, &app.own, &host)).into_response());
    let body = body.unwrap_or_else(|| [(header::CACHE_CONTROL, "no-store")].into_response());
    Ok((status(&written, StatusCode::OK), outcome(&written), body).into_response())
}

/// Delete a link
///
/// Its code becomes available again.
#[utoipa::path(
    delete, path = "/api/links/{code}", tag = "links",
    params(
        ("code" = String, Path, description = "Code or alias, case-sensitive"),
        ("if-match" = Option<String>, Header, pattern = r#"^(\*|"[0-9]+"(, ?"[0-9]+")*)$"#, description = "Delete the link only if it has this `ETag`, or one of a list"),
    ),
    responses(
        (status = 204, description = "The link was deleted", headers(
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "Accepted: the deletion is on this instance's disk and not in the database yet \
            (`--write-mode behind`)", headers(("x-consistency-state" = String, description = "`eventual`"))),
        RemoveProblems,
    )
)]
pub(super) async fn remove(
    State(app): State<App>,
    Path(code): Path<String>,
    accepted: IfMatch,
) -> Result<Response, Problem> {
    let expected = accepted.expected(&app.service, &code).await?;
    let written = app.service.delete(&code, expected).await?.ok_or_else(|| unknown_code(&code))?;
    Ok((status(&written, StatusCode::NO_CONTENT), outcome(&written)).into_response())
}

/// `committed` for a write that is in the database, 202 for one that is only in the spool.
fn status<T>(written: &Written<T>, committed: StatusCode) -> StatusCode {
    if written.is_committed { committed } else { StatusCode::ACCEPTED }
}

/// Extensions for the middleware: the consistency header, and that the request is logged as a write.
fn outcome<T>(written: &Written<T>) -> (Extension<Consistency>, Extension<Changed>) {
    (Extension(written.consistency), Extension(Changed))
}

/// A link with its `ETag`; caches must not store it.
fn tagged(body: LinkBody) -> impl IntoResponse {
    let tag = etag::of(body.version);
    ([(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(body))
}
