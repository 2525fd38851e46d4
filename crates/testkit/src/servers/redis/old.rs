//! A server that replies to the connection setup of a client as a Redis before 7.0 does.

use anyhow::Result;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Replies to the handshake, `CLIENT`, and `INFO` with one section, as Redis 6.0 and 6.2 do. It ends when dropped.
#[derive(Debug)]
pub struct OldRedis {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl OldRedis {
    /// Listens on a free loopback port, and reports this version.
    pub async fn start(version: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let version = version.to_owned();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let version = version.clone();
                // An error concerns only this connection.
                tokio::spawn(async move { serve(stream, &version).await.ok() });
            }
        });
        Ok(Self { address, task })
    }

    /// The address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for OldRedis {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, version: &str) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let words = command(&mut stream).await?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = match words.as_slice() {
            ["HELLO", ..] => format!("%2\r\n+version\r\n+{version}\r\n+proto\r\n:3\r\n"),
            // Unknown before 7.2; the client ignores the error.
            ["CLIENT", "SETINFO", ..] => {
                "-ERR Unknown subcommand or wrong number of arguments for 'SETINFO'\r\n".to_owned()
            }
            ["CLIENT" | "SELECT", ..] => "+OK\r\n".to_owned(),
            ["INFO", "server"] => {
                let info = format!("# Server\r\nredis_version:{version}\r\nrun_id:0\r\n");
                format!("${}\r\n{info}\r\n", info.len())
            }
            ["INFO", ..] => "-ERR syntax error\r\n".to_owned(),
            _ => "-ERR unknown command\r\n".to_owned(),
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// The arguments of the next command.
async fn command(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..length(stream).await? {
        let mut word = vec![0; length(stream).await? + 2];
        stream.read_exact(&mut word).await?;
        words.push(String::from_utf8_lossy(&word[..word.len() - 2]).into_owned());
    }
    Ok(words)
}

/// The number in a line such as `*3` or `$5`.
async fn length(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<usize> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    line.get(1..).and_then(|number| number.trim_end().parse().ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
