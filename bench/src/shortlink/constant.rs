//! The peer: the same HTTP server (axum on tokio, as the service has it) with one handler that always answers the same redirect.

use anyhow::Result;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;

/// The process of its own (`bench constant`).
pub(crate) fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        let redirect = || async { (StatusCode::FOUND, [(header::LOCATION, "https://example.org/some/page")]) };
        Ok(axum::serve(listener, Router::new().route("/{code}", get(redirect))).await?)
    })
}
