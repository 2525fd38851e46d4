//! One direction of one connection: reads frames, holds or delays them, and delivers them in order.

use super::flow::{Direction, Flow};
use super::record::Command;
use super::resp::{self, Frames};
use super::shadow::Shadow;
use super::shared::Shared;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// Why a pump stopped before both sides were done.
#[derive(Debug)]
pub(super) enum Ended {
    /// A fault cut the connection.
    Cut,
    /// One of the sockets failed, so the other is closed, too.
    Socket,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Ended {
        Ended::Socket
    }
}

#[derive(Clone, Copy)]
pub(super) struct Pump<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) direction: Direction,
    pub(super) connection: u64,
    /// Commands without a reply, oldest first.
    pub(super) unanswered: &'a Mutex<VecDeque<Command>>,
}

/// A frame inside the proxy.
struct Frame {
    due: Instant,
    bytes: Bytes,
    /// The number of the command, or of the replied command, if known.
    number: Option<u64>,
    /// It is lost, and with it everything after it on this connection.
    is_lost: bool,
}

impl Pump<'_> {
    /// Runs until the reading side ends and everything is delivered, then shuts the writing side down.
    pub(super) async fn run(
        &self,
        read: ReadHalf<'_>,
        write: WriteHalf<'_>,
        shadow: Option<Shadow<'_>>,
    ) -> Result<(), Ended> {
        let (frames, delivery) = unbounded_channel();
        tokio::try_join!(self.take_in(read, frames, shadow), self.deliver(write, delivery))?;
        Ok(())
    }

    async fn take_in(
        &self,
        mut read: ReadHalf<'_>,
        delivery: UnboundedSender<Frame>,
        mut shadow: Option<Shadow<'_>>,
    ) -> Result<(), Ended> {
        let mut frames = Frames::default();
        loop {
            let read = read.read_buf(&mut frames.buffer).await?;
            if read == 0 {
                return Ok(());
            }
            if self.direction == Direction::ToServer {
                self.shared.count(|counters| counters.bytes_from_clients += read as u64);
            }
            while let Some(bytes) = frames.next() {
                let command = if frames.opaque { None } else { self.command_of(&bytes) };
                if let Some(command) = &command {
                    if let Some(shadow) = &mut shadow {
                        shadow.see(command, &bytes);
                    }
                    self.shared.holds.pass(self.direction, command).await;
                }
                let due = Instant::now() + self.shared.delay(self.direction);
                let number = command.map(|command| command.number);
                // The receiver lives as long as this sender: the same future polls both.
                let is_lost = self.direction == Direction::ToServer && self.shared.rules.borrow().loses(&bytes);
                delivery.send(Frame { due, bytes, number, is_lost }).ok();
            }
        }
    }

    /// The command of a frame, or of a reply.
    fn command_of(&self, frame: &[u8]) -> Option<Command> {
        match self.direction {
            Direction::ToServer => {
                let command = self.shared.record(resp::command(frame)?, self.connection);
                self.unanswered.lock().push_back(command.clone());
                Some(command)
            }
            Direction::ToClient if resp::is_push(frame) => None,
            Direction::ToClient => self.unanswered.lock().pop_front(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the proxy delays frames")]
    async fn deliver(&self, mut write: WriteHalf<'_>, mut delivery: UnboundedReceiver<Frame>) -> Result<(), Ended> {
        let mut rules = self.shared.rules.subscribe();
        let mut lost_some = false;
        while let Some(frame) = delivery.recv().await {
            sleep_until(frame.due).await;
            // The sender lives in `shared`, so waiting cannot fail.
            let flow = rules.wait_for(|rules| rules.flow(self.direction) != Flow::Stall).await;
            lost_some |= flow.is_ok_and(|rules| rules.flow(self.direction) == Flow::Swallow);
            lost_some |= frame.is_lost;
            if frame.number.is_some_and(|number| self.shared.cuts_before(self.direction, number)) {
                return Err(Ended::Cut);
            }
            if !lost_some {
                self.write(&mut write, &frame.bytes).await?;
            }
        }
        Ok(write.shutdown().await?)
    }

    async fn write(&self, write: &mut WriteHalf<'_>, bytes: &[u8]) -> Result<(), Ended> {
        let (allowed, cut) = self.shared.cuts_within(self.direction, bytes.len());
        write.write_all(&bytes[..allowed]).await?;
        let written = allowed as u64;
        self.shared.count(|counters| match self.direction {
            Direction::ToServer => counters.bytes_to_server += written,
            Direction::ToClient => counters.bytes_to_client += written,
        });
        if cut { Err(Ended::Cut) } else { Ok(()) }
    }
}
