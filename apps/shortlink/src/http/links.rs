//! `/api/links` and `/api/links/{code}`.

use super::app::App;
use super::body::{ChangeLink, CreateLink, LinkBody, LinkPage, ListQuery};
use super::etag::{self, IfMatch};
use super::openapi::{AliasProblems, ListProblems, ReadProblems, RemoveProblems, WriteProblems};
use super::refusal::unknown_code;
use crate::service::Written;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use web::{Changed, Consistency, Host, JsonBody, Problem, Query};

/// Create a link
///
/// Once the answer is `consistent`, every instance redirects it.
#[utoipa::path(
    post, path = "/api/links", tag = "links", request_body = CreateLink,
    responses(
        (status = 201, description = "The link was created", body = LinkBody, headers(
            ("location" = String, description = "Address of the link"),
            ("etag" = String, description = "Its version, for `If-Match`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "The link was taken: it is on this machine's disk, and not in the database yet \
            (`--write-mode behind`). The answer is that of 201.", body = LinkBody, headers(
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
    Ok((status(&written, StatusCode::CREATED), headers, told(&written), tagged(body)).into_response())
}

/// List or search links
///
/// Newest first, in numbered pages. `q` searches codes and targets.
#[utoipa::path(
    get, path = "/api/links", tag = "links", params(ListQuery),
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
/// From the database, also after it has expired.
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
/// A JSON merge patch: a field that is left out stays, `"expires_at": null` removes the end, `"banned": true` bans the link. From
/// the moment this answers `consistent`, no instance serves the former target.
#[utoipa::path(
    patch, path = "/api/links/{code}", tag = "links", request_body = ChangeLink,
    params(
        ("code" = String, Path, description = "Code or alias, case-sensitive"),
        ("if-match" = Option<String>, Header, description = "Change it only if it still has this `ETag`"),
    ),
    responses(
        (status = 200, description = "The link as it is now", body = LinkBody, headers(
            ("etag" = String, description = "Its version, for `If-Match`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "The change was taken: it is on this machine's disk, and not in the database yet \
            (`--write-mode behind`). The answer is that of 200; it has no body if the database could not be looked at.",
            body = LinkBody, headers(("x-consistency-state" = String, description = "`eventual`"))),
        (status = 404, description = "No such link", body = Problem, content_type = "application/problem+json"),
        (status = 412, description = "Changed meanwhile", body = Problem, content_type = "application/problem+json"),
        WriteProblems,
    )
)]
pub(super) async fn change(
    State(app): State<App>,
    host: Host,
    Path(code): Path<String>,
    IfMatch(expected): IfMatch,
    JsonBody(body): JsonBody<ChangeLink>,
) -> Result<Response, Problem> {
    let changed = app.service.patch(&code, &body.draft()?, expected, host.as_str()).await?;
    let written = changed.ok_or_else(|| unknown_code(&code))?;
    let body = written.value.as_ref().map(|link| tagged(LinkBody::new(link, &app.own, &host)).into_response());
    let body = body.unwrap_or_else(|| [(header::CACHE_CONTROL, "no-store")].into_response());
    Ok((status(&written, StatusCode::OK), told(&written), body).into_response())
}

/// Delete a link
///
/// Its code becomes available again.
#[utoipa::path(
    delete, path = "/api/links/{code}", tag = "links",
    params(
        ("code" = String, Path, description = "Code or alias, case-sensitive"),
        ("if-match" = Option<String>, Header, description = "Delete it only if it still has this `ETag`"),
    ),
    responses(
        (status = 204, description = "The link was deleted", headers(
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        (status = 202, description = "The deletion was taken: it is on this machine's disk, and not in the database yet \
            (`--write-mode behind`)", headers(("x-consistency-state" = String, description = "`eventual`"))),
        RemoveProblems,
    )
)]
pub(super) async fn remove(
    State(app): State<App>,
    Path(code): Path<String>,
    IfMatch(expected): IfMatch,
) -> Result<Response, Problem> {
    let written = app.service.delete(&code, expected).await?.ok_or_else(|| unknown_code(&code))?;
    Ok((status(&written, StatusCode::NO_CONTENT), told(&written)).into_response())
}

/// What a write that is in the database is answered with; one that is not yet is accepted (202).
fn status<T>(written: &Written<T>, committed: StatusCode) -> StatusCode {
    if written.is_committed { committed } else { StatusCode::ACCEPTED }
}

/// Who knows of it; and that the log names it.
fn told<T>(written: &Written<T>) -> (Extension<Consistency>, Extension<Changed>) {
    (Extension(written.consistency), Extension(Changed))
}

/// What the API tells of a link is about this moment: nobody keeps it.
fn tagged(body: LinkBody) -> impl IntoResponse {
    let tag = etag::of(body.version);
    ([(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(body))
}
