//! Waits in the server's queue for a lock, on a connection that then holds it.

use super::session::Session;
use super::shared::Shared;
use crate::sql::database::Pool;
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Call, WakeListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The idle timeout of a connection with a lock that no contender takes over.
const QUIET: Duration = Duration::from_secs(10);
/// The pause after an error, after which the contender asks by itself.
const PAUSE: Duration = Duration::from_millis(100);
/// The task ends after this number of waits in a row without a contender.
const IDLE_ROUNDS_MAX: u32 = 2;

/// Waits in the queue for one name while a task of this process waits for the lock.
pub(super) struct Waiter {
    shared: Arc<Shared>,
    pool: Pool,
    clock: Clock,
    name: LockName,
    is_requested: Arc<AtomicBool>,
    task: Option<(AbortHandle, watch::Receiver<bool>)>,
}

impl Waiter {
    /// Begins to wait in the server's queue, so that no later release is missed. Needs a runtime.
    pub(super) fn start(shared: Arc<Shared>, pool: Pool, clock: Clock, name: LockName) -> Self {
        let mut waiter = Self { shared, pool, clock, name, is_requested: Arc::default(), task: None };
        waiter.wait();
        waiter
    }

    /// Starts the task, unless it runs; the receiver is notified when it has ended.
    fn wait(&mut self) -> watch::Receiver<bool> {
        self.is_requested.store(true, SeqCst);
        if let Some((_, over)) = &self.task
            && !*over.borrow()
        {
            return over.clone();
        }
        let me = Token::random();
        self.shared.wait(&self.name, me);
        let (end, over) = watch::channel(false);
        let waiting = Waiting {
            shared: Arc::clone(&self.shared),
            clock: self.clock.clone(),
            name: self.name.clone(),
            is_requested: Arc::clone(&self.is_requested),
            me,
            end,
        };
        let pool = self.pool.clone();
        let task = evenkeel_link::support::spawn(async move { waiting.run(&pool).await });
        self.task = Some((task.abort_handle(), over.clone()));
        over
    }
}

#[async_trait]
impl WakeListener for Waiter {
    async fn called(&mut self, _process: Token) -> Call {
        if !self.shared.is_granted(&self.name) {
            let mut over = self.wait();
            // A dropped sender means that the task has ended, too.
            let _ = over.wait_for(|over| *over).await;
        }
        Call::You
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some((task, _)) = &self.task {
            task.abort();
        }
        self.shared.leave(&self.name);
    }
}

/// The waiting task.
struct Waiting {
    shared: Arc<Shared>,
    clock: Clock,
    name: LockName,
    is_requested: Arc<AtomicBool>,
    me: Token,
    end: watch::Sender<bool>,
}

impl Waiting {
    async fn run(self, pool: &Pool) {
        match self.wait(pool).await {
            Ok(Some(session)) => self.shared.grant(&self.name, self.me, session),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(name = %self.name, %error, "the wait for an advisory lock failed");
                self.clock.sleep(PAUSE).await;
            }
        }
    }

    /// The connection that holds the lock; `None` if no contender is left.
    async fn wait(&self, pool: &Pool) -> Result<Option<Session>, sqlx::Error> {
        let Some(place) = self.shared.place().await else { return Ok(None) };
        let mut session = Session::open(pool, place, QUIET).await?;
        let mut idle_rounds = 0;
        while idle_rounds < IDLE_ROUNDS_MAX {
            if session.wait_lock(&self.name).await? {
                return Ok(Some(session));
            }
            idle_rounds = if self.is_requested.swap(false, SeqCst) { 0 } else { idle_rounds + 1 };
        }
        session.close().await;
        Ok(None)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.stop_waiting(&self.name, self.me);
        self.end.send_replace(true);
    }
}
