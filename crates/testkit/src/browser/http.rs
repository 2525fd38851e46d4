//! Just enough HTTP to speak with a WebDriver on the loopback interface.

use anyhow::{Context, Result};
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Loading a page is one request, so this is long.
const DEADLINE: Duration = Duration::from_secs(120);

/// One request with a JSON body and a JSON answer, whatever its status.
pub(super) async fn request(port: u16, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = tokio::time::timeout(DEADLINE, exchange(port, &(head + &body))).await;
    let answer = answer.with_context(|| format!("the driver did not answer {method} {path} within {DEADLINE:?}"))??;
    serde_json::from_slice(&answer).with_context(|| format!("the driver's answer to {method} {path} is no JSON"))
}

async fn exchange(port: u16, request: &str) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut received = Vec::new();
    loop {
        if let Some((start, length)) = body_of(&received)?
            && received.len() >= start + length
        {
            return Ok(received[start..start + length].to_vec());
        }
        let read = stream.read_buf(&mut received).await?;
        anyhow::ensure!(read > 0, "the driver closed the connection in the middle of an answer");
    }
}

/// Where the body begins and how long it is, once the head is there.
fn body_of(received: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&received[..end])?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.context("the driver's answer tells no length")?.trim().parse()?;
    Ok(Some((end + 4, length)))
}

/// Standard alphabet; line ends and padding are skipped.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for symbol in text.bytes().filter(|symbol| !matches!(symbol, b'=' | b'\n' | b'\r')) {
        let value = match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (text, bytes) in [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YWJj\nZA==", "abcd")] {
            assert_eq!(from_base64(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(from_base64("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        assert_eq!(from_base64("a b"), None);
    }
}
