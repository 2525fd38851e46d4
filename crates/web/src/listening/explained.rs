//! [`Explained`]: requests that hyper refuses before any handler sees them get a problem document instead of an empty body.

use crate::{Kind, Problem, ShortId};
use axum::http::HeaderMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What hyper refuses by itself.
const REFUSED: [(&[u8], Kind); 3] = [
    (b"HTTP/1.1 400 ", Kind::BAD_REQUEST),
    (b"HTTP/1.1 414 ", Kind::URI_TOO_LONG),
    (b"HTTP/1.1 431 ", Kind::HEADERS_TOO_LARGE),
];

/// Every response of a service has this header, hyper's own have not.
const OF_SERVICE: &[u8] = b"x-short-id:";

/// A connection on which hyper's own responses, whose bodies are empty, are replaced.
pub(super) struct Explained<S> {
    stream: S,
    /// The rest of a replacement, which is sent before anything else.
    unsent: Vec<u8>,
}

impl<S: AsyncWrite + Unpin> Explained<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, unsent: Vec::new() }
    }

    fn poll_unsent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &self.unsent))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }
}

/// The response in place of this head, if hyper has written it.
fn replacement(head: &[u8]) -> Option<Vec<u8>> {
    let (_, kind) = REFUSED.into_iter().find(|(status, _)| head.starts_with(status))?;
    if !head.ends_with(b"\r\n\r\n") || head.windows(OF_SERVICE.len()).any(|part| part == OF_SERVICE) {
        return None;
    }
    let body = serde_json::to_string(&Problem::plain(kind)).ok()?;
    let (status, length, id) = (kind.status, body.len(), ShortId::of(&HeaderMap::new()));
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\nx-short-id: {id}\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    Some(text.into_bytes())
}

impl<S: AsyncRead + Unpin> AsyncRead for Explained<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Explained<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        if let Some(whole) = replacement(bytes) {
            self.unsent = whole;
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_unsent(context))?;
        match parts.first().and_then(|head| Some((head.len(), replacement(head)?))) {
            Some((length, whole)) => {
                self.unsent = whole;
                Poll::Ready(Ok(length))
            }
            None => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{Explained, replacement};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const OWN: &[u8] = b"HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    // shows: hazard S39a
    #[test]
    fn only_responses_of_hyper_are_replaced() {
        assert!(replacement(OWN).is_some());
        for other in [
            &b"HTTP/1.1 414 URI Too Long\r\nx-short-id: abcdefgh\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 of a body",
        ] {
            assert!(replacement(other).is_none(), "{}", String::from_utf8_lossy(other));
        }
    }

    /// The transport takes a few bytes at a time.
    // shows: hazard S39a
    #[tokio::test]
    async fn replacement_is_sent_whole_before_later_bytes() {
        let (near, mut far) = tokio::io::duplex(7);
        let mut explained = Explained::new(near);
        let sent = tokio::spawn(async move {
            explained.write_all(OWN).await.unwrap();
            explained.write_all(b"later").await.unwrap();
            explained.shutdown().await.unwrap();
        });
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        sent.await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 414 URI Too Long\r\n") && head.contains("\r\nx-short-id: "), "{text}");
        let body = body.strip_suffix("later").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
        assert!(body.contains("/docs#uri-too-long"), "{text}");
    }
}
