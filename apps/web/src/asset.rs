//! The files of a page, inside the program: those of the application, and those that all applications have.

use crate::Problem;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::fmt::Write;

/// What all applications have: the style sheet.
#[derive(RustEmbed)]
#[folder = "assets/"]
struct Shared;

/// The address of a file. It changes with the content, so that a browser may keep what it has for good.
#[must_use]
pub fn url<A: RustEmbed>(file: &str) -> String {
    let tag = find::<A>(file).map(|asset| tag(&asset)).unwrap_or_default();
    format!("/assets/{file}?v={tag}")
}

/// `GET /assets/{file}`: a handler.
///
/// # Errors
/// There is no such file.
pub async fn give<A: RustEmbed>(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = find::<A>(&file).ok_or_else(|| Problem::of_status(StatusCode::NOT_FOUND))?;
    let tag = HeaderValue::try_from(format!("\"{}\"", tag(&asset))).unwrap_or(HeaderValue::from_static("\"\""));
    let kept = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    if headers.get(header::IF_NONE_MATCH) == Some(&tag) {
        return Ok((StatusCode::NOT_MODIFIED, kept).into_response());
    }
    Ok((kept, [(header::CONTENT_TYPE, media_type(&file))], asset.data).into_response())
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
    asset.metadata.sha256_hash().iter().take(8).fold(String::new(), |mut tag, byte| {
        // Writing into a string cannot fail.
        let _ = write!(tag, "{byte:02x}");
        tag
    })
}
