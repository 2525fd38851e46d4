//! Explains why the server rejected a connection and what the user can do about it.

use super::identity::REQUIREMENT;
use crate::connection::connect::Connector;
use crate::connection::stream::Stream;
use crate::epoch::open::OpenError;
use crate::error::LinkError;
use crate::support::guard::guard;
use redis::{ErrorKind, RedisError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes that are read of the server's reply.
const REPLY_BYTES_MAX: usize = 256;
/// Bytes of the reply that an error message shows.
const SHOWN_MAX: usize = 40;

/// The meaning of a failed handshake. If the client library's error is not specific, a second connection reads the server's reply as plain
/// bytes: a Redis above its `maxclients` limit sends an error before the first command and closes the connection, and a server that is
/// not Redis replies in its own protocol.
pub(crate) async fn of_handshake(connector: &Connector, error: &RedisError) -> OpenError {
    if error.kind() == ErrorKind::RESP3NotSupported {
        return too_old();
    }
    match (error.code(), error.detail()) {
        (Some("ERR"), Some(reply)) if reply.starts_with("unknown command") && reply.contains("HELLO") => too_old(),
        (Some("NOPROTO"), _) => too_old(),
        (Some("ERR"), Some(reply)) if is_clients_limit(reply) => OpenError::retryable(clients_limit_reached(reply)),
        (Some(_), _) => LinkError::from_redis(error).into(),
        (None, _) => {
            let (limit, clock) = connector.look();
            let asked = clock.timeout(limit, first_reply(connector)).await;
            let reply = asked.ok().flatten().filter(|_| guard("link_first_words"));
            OpenError::retryable(reply.as_deref().and_then(meaning).unwrap_or_else(|| unexplained(error)))
        }
    }
}

fn too_old() -> OpenError {
    let message = format!("it does not support HELLO 3: it is older than Redis 6, or HELLO is disabled; {REQUIREMENT}");
    LinkError::Refused { code: "NOPROTO".to_owned(), message }.into()
}

fn is_clients_limit(reply: &str) -> bool {
    reply.starts_with("max number of clients")
}

fn clients_limit_reached(reply: &str) -> String {
    format!("its limit of clients is reached ({reply}): raise `maxclients`, or close connections")
}

fn unexplained(error: &RedisError) -> String {
    match error.kind() {
        ErrorKind::Parse => {
            format!("the server does not speak the Redis protocol ({error}); check host and port")
        }
        _ => error.to_string(),
    }
}

/// The first bytes that the server sends, before or after a `PING`.
async fn first_reply(connector: &Connector) -> Option<Vec<u8>> {
    match connector.stream().await? {
        Stream::Tcp(stream) => read_reply(stream).await,
        #[cfg(feature = "tls")]
        Stream::Tls(stream) => read_reply(stream).await,
        Stream::Unix(stream) => read_reply(stream).await,
    }
}

async fn read_reply(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Option<Vec<u8>> {
    // The write may fail because the server has closed the connection; its reply may still be readable.
    let _ = stream.write_all(b"PING\r\n").await;
    let mut reply = vec![0; REPLY_BYTES_MAX];
    let length = stream.read(&mut reply).await.ok()?;
    reply.truncate(length);
    Some(reply)
}

/// What these first bytes say about the server; `None` if any Redis server sends them.
fn meaning(reply: &[u8]) -> Option<String> {
    let line = reply.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    match reply {
        [] | [b'+' | b'$' | b'*', ..] => None,
        [b'-', ..] => {
            let refusal = text.trim_start_matches("-ERR ").trim_start_matches('-');
            let is_usual = refusal.starts_with("NOAUTH") || refusal.starts_with("NOPERM");
            (!is_usual).then(|| {
                if is_clients_limit(refusal) {
                    clients_limit_reached(refusal)
                } else {
                    format!("it replied: {refusal}")
                }
            })
        }
        [0x15 | 0x16, 0x03, ..] => Some("the server requires TLS: write rediss://".to_owned()),
        _ if text.starts_with("HTTP/") => {
            Some(format!("the server is an HTTP server, not Redis ({}); check host and port", shown(line)))
        }
        _ => Some(format!("the server is not Redis (it replied `{}`); check host and port", shown(line))),
    }
}

fn shown(line: &[u8]) -> String {
    line[..line.len().min(SHOWN_MAX)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::meaning;

    #[test]
    fn first_bytes_identify_the_server() {
        for usual in ["", "+PONG\r\n", "-NOAUTH Authentication required.\r\n", "-NOPERM no\r\n"] {
            assert_eq!(meaning(usual.as_bytes()), None, "{usual}");
        }
        for (reply, requested) in [
            (&b"-ERR max number of clients reached\r\n"[..], "raise `maxclients`"),
            (b"-DENIED Redis is running in protected mode because\r\n", "it replied: DENIED Redis"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "rediss://"),
            (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n", "HTTP server, not Redis (HTTP/1.1 400 Bad Request)"),
            (b"J\0\0\0\n8.0.36\0", "not Redis (it replied `J\\x00\\x00\\x00`)"),
        ] {
            let text = meaning(reply).unwrap_or_default();
            assert!(text.contains(requested), "{text}");
        }
    }
}
