//! Assets embedded in the program: those of the application and those of all applications.

use crate::{Problem, hex};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

/// The assets of all applications: the style sheet.
#[derive(RustEmbed)]
#[folder = "assets/"]
struct Shared;

/// The URL of a file. It contains a hash of the content, so that browsers may cache it without expiry.
#[must_use]
pub fn url<A: RustEmbed>(file: &str) -> String {
    let tag = find::<A>(file).map(|asset| tag(&asset)).unwrap_or_default();
    format!("/assets/{file}?v={tag}")
}

/// Handles `GET /assets/{file}`.
///
/// # Errors
/// The file does not exist.
pub async fn serve<A: RustEmbed>(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = find::<A>(&file).ok_or_else(|| Problem::of_status(StatusCode::NOT_FOUND))?;
    let tag = HeaderValue::try_from(format!("\"{}\"", tag(&asset))).unwrap_or(HeaderValue::from_static("\"\""));
    let caching = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    Ok((caching, [(header::CONTENT_TYPE, media_type(&file))], asset.data).into_response())
}

fn find<A: RustEmbed>(file: &str) -> Option<EmbeddedFile> {
    A::get(file).or_else(|| Shared::get(file))
}

fn media_type(file: &str) -> &'static str {
    match file.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

/// The first eight bytes of the content's SHA-256.
fn tag(asset: &EmbeddedFile) -> String {
    hex(&asset.metadata.sha256_hash()[..8])
}
