//! Holds one command, or its reply, inside the proxy.

use super::DEADLINE;
use super::flow::Direction;
use super::record::Command;
use anyhow::{Context, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A command, or its reply, that the proxy will hold. Dropping this releases it.
#[derive(Debug)]
pub struct Hold {
    name: String,
    reached: oneshot::Receiver<Command>,
    release: oneshot::Sender<()>,
}

impl Hold {
    /// Waits until the proxy holds it.
    ///
    /// Errors: no such command arrived within 60 s.
    pub async fn reached(&mut self) -> Result<Command> {
        let reached = tokio::time::timeout(DEADLINE, &mut self.reached).await;
        let reached = reached.with_context(|| format!("no {} arrived within {DEADLINE:?}", self.name))?;
        reached.context("the proxy has ended")
    }

    /// Releases the command, or the reply.
    pub fn release(self) {
        self.release.send(()).ok();
    }
}

/// The holds that no command has reached yet.
#[derive(Debug, Default)]
pub(super) struct Holds(Mutex<Vec<Waiting>>);

#[derive(Debug)]
struct Waiting {
    direction: Direction,
    name: String,
    reached: oneshot::Sender<Command>,
    released: oneshot::Receiver<()>,
}

/// By a call of this function a new connection learns whether the server has functions: it is no step.
const UNKNOWN_FUNCTION: &str = "no_such_function";

impl Holds {
    pub(super) fn add(&self, direction: Direction, name: &str) -> Hold {
        let name = name.to_uppercase();
        let (reached, for_test) = oneshot::channel();
        let (release, released) = oneshot::channel();
        self.0.lock().push(Waiting { direction, name: name.clone(), reached, released });
        Hold { name, reached: for_test, release }
    }

    /// Waits while this command, or its reply, is held.
    pub(super) async fn pass(&self, direction: Direction, command: &Command) {
        if command.argument.as_deref() == Some(UNKNOWN_FUNCTION) {
            return;
        }
        let Some(waiting) = self.take(direction, &command.name) else { return };
        if waiting.reached.send(command.clone()).is_ok() {
            waiting.released.await.ok();
        }
    }

    fn take(&self, direction: Direction, name: &str) -> Option<Waiting> {
        let mut waiting = self.0.lock();
        let found = waiting.iter().position(|waiting| waiting.direction == direction && waiting.name == name)?;
        Some(waiting.remove(found))
    }
}
