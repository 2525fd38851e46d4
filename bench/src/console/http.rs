//! A plain HTTP client, a connection for each request.

use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The text of a page, and the time from the connection to its last byte.
pub(super) async fn get(address: &str, path: &str) -> Result<(String, Duration)> {
    let began = Instant::now();
    let mut stream = send(address, path, "close").await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    let took = began.elapsed();
    let response = String::from_utf8_lossy(&response).into_owned();
    // Searches by id lead to the page of the job.
    ensure!(
        response.starts_with("HTTP/1.1 200") || response.starts_with("HTTP/1.1 303"),
        "GET {path}: {}",
        response.lines().next().unwrap_or_default()
    );
    Ok((response, took))
}

/// An open event stream.
pub(super) struct Events {
    stream: TcpStream,
}

impl Events {
    pub(super) async fn open(address: &str, path: &str) -> Result<Self> {
        Ok(Self { stream: send(address, path, "keep-alive").await? })
    }

    /// Reads events as they come, for so long; returns their number.
    pub(super) async fn read(&mut self, span: Duration) -> Result<usize> {
        let (mut events, mut read) = (0, vec![0; 64 << 10]);
        let reading = async {
            loop {
                let count = self.stream.read(&mut read).await?;
                ensure!(count > 0, "the console closed an event stream");
                events += read[..count].windows(5).filter(|window| window == b"data:").count();
            }
        };
        match tokio::time::timeout(span, reading).await {
            Ok(ended) => ended,
            Err(_) => Ok(events),
        }
    }
}

async fn send(address: &str, path: &str, connection: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await.with_context(|| format!("could not connect to {address}"))?;
    stream.set_nodelay(true)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}
