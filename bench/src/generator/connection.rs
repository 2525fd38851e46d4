//! One kept-alive HTTP/1.1 connection: as little client as can be, so that the server is what is measured.

use super::{Task, Work};
use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(super) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
    host: String,
}

impl Connection {
    pub(super) async fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(4096), host: address.to_owned() })
    }

    /// Sends the `number`th request of the task and checks the answer; a creation answers its code.
    pub(super) async fn ask(&mut self, task: &Task, number: u64) -> Result<Option<String>> {
        match &task.work {
            Work::Redirects(codes) => {
                let code = &codes[usize::try_from(number)? % codes.len()];
                let head = format!("GET /{code} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host);
                let (status, _) = self.exchange(&head).await?;
                ensure!(status == 302, "GET /{code} answered {status}");
                Ok(None)
            }
            Work::Creations { salt } => {
                let body = format!("{{\"target\":\"https://example.org/{salt:x}/{number}\"}}");
                let head = format!(
                    "POST /api/links HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    self.host,
                    body.len()
                );
                let (status, answer) = self.exchange(&head).await?;
                ensure!(status == 201, "POST /api/links answered {status}: {}", String::from_utf8_lossy(&answer));
                let answer: serde_json::Value = serde_json::from_slice(&answer)?;
                Ok(answer["code"].as_str().map(str::to_owned))
            }
        }
    }

    /// Status and body of the answer.
    async fn exchange(&mut self, request: &str) -> Result<(u16, Vec<u8>)> {
        self.stream.write_all(request.as_bytes()).await?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await? == 0 {
                bail!("the server closed the connection");
            }
            if let Some((status, body, length)) = parse(&self.read)? {
                while self.read.len() < body + length {
                    if self.stream.read_buf(&mut self.read).await? == 0 {
                        bail!("the server closed the connection");
                    }
                }
                return Ok((status, self.read[body..body + length].to_vec()));
            }
        }
    }
}

/// Status, start and length of the body; `None` while the head is not complete.
fn parse(read: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&read[..end])?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).context("an answer has a status")?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Ok(Some((status, end + 4, length.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_answer_is_read_when_its_head_is_complete() {
        let answer = b"HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nab";
        assert_eq!(super::parse(&answer[..30]).ok(), Some(None));
        assert_eq!(super::parse(answer).ok(), Some(Some((302, 41, 2))));
    }
}
