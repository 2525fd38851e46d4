//! The second connection on which commands are sent again.

use super::record::Command;
use super::shared::Shared;
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Duration, Instant, sleep_until};

/// What a client says about its connection rather than to the data: a second connection has to say it too.
const ABOUT_THE_CONNECTION: [&str; 5] = ["HELLO", "AUTH", "SELECT", "CLIENT", "READONLY"];

/// Sends some of one connection's commands a second time. Its connection is opened when there is something to send.
pub(super) struct Shadow<'a> {
    shared: &'a Arc<Shared>,
    greeting: Vec<Bytes>,
    sender: Option<UnboundedSender<(Instant, Bytes)>>,
}

impl<'a> Shadow<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>) -> Shadow<'a> {
        Shadow { shared, greeting: Vec::new(), sender: None }
    }

    /// Looks at a command on its way to the server.
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

/// Writes each frame when it is due and ignores the answers. Goes on after the client is gone until everything was sent.
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
        // Closing at once would make the kernel throw away what the server has not read yet.
        write.shutdown().await.ok();
    };
    tokio::join!(ignore, send);
}
