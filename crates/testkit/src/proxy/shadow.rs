//! The second connection, which sends duplicates of commands.

use super::record::Command;
use super::shared::Shared;
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Duration, Instant, sleep_until};

/// Commands that set up a connection; the second connection repeats all of them.
const ABOUT_THE_CONNECTION: [&str; 5] = ["HELLO", "AUTH", "SELECT", "CLIENT", "READONLY"];

/// Sends some commands of one connection a second time. The second connection is opened when the first duplicate is sent.
pub(super) struct Shadow<'a> {
    shared: &'a Arc<Shared>,
    greeting: Vec<Bytes>,
    sender: Option<UnboundedSender<(Instant, Bytes)>>,
}

impl<'a> Shadow<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>) -> Shadow<'a> {
        Shadow { shared, greeting: Vec::new(), sender: None }
    }

    /// Processes a command on its way to the server.
    pub(super) fn see(&mut self, command: &Command, frame: &Bytes) {
        if ABOUT_THE_CONNECTION.contains(&command.name.as_str()) {
            self.greeting.push(frame.clone());
            self.send(Duration::ZERO, frame);
        } else if let Some(later) = self.shared.duplicate_delay() {
            self.open();
            self.send(later, frame);
            self.shared.count(|counters| counters.duplicated += 1);
        }
    }

    fn open(&mut self) {
        if self.sender.is_none() {
            let (sender, frames) = unbounded_channel();
            tokio::spawn(repeat(self.shared.target, frames));
            self.sender = Some(sender);
            for frame in std::mem::take(&mut self.greeting) {
                self.send(Duration::ZERO, &frame);
            }
        }
    }

    fn send(&self, later: Duration, frame: &Bytes) {
        if let Some(sender) = &self.sender {
            sender.send((Instant::now() + later, frame.clone())).ok();
        }
    }
}

/// Writes each frame when it is due, and discards the replies. Continues after the client has disconnected until everything is sent.
#[expect(clippy::disallowed_methods, reason = "the proxy delays frames")]
async fn repeat(target: u16, mut frames: UnboundedReceiver<(Instant, Bytes)>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
    let (mut read, mut write) = server.into_split();
    let ignore = async {
        tokio::io::copy(&mut read, &mut tokio::io::sink()).await.ok();
    };
    let send = async {
        while let Some((due, frame)) = frames.recv().await {
            sleep_until(due).await;
            if write.write_all(&frame).await.is_err() {
                return;
            }
        }
        // Closing at once would discard data that the server has not read yet.
        write.shutdown().await.ok();
    };
    tokio::join!(ignore, send);
}
