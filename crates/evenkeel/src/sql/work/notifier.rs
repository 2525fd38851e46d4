//! Notifies relays of other processes that a commit has left effects, where the database supports it (PostgreSQL).
//!
//! The notification is sent after the commit, not in it: all committing transactions with a notification share one lock of the
//! server, until they are written to disk. Commits at nearly the same time share one notification.

use crate::sql::database::Pool;
use evenkeel_link::support::guard;
use tokio::sync::mpsc;

/// When relays in other processes are notified of the effects that a commit left. Only PostgreSQL has notifications; on other
/// databases, and after a lost notification, relays find the effects at their next poll (after at most a second by default).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WakeUp {
    /// Right after the commit, on another connection; commits at nearly the same time share one notification. If the process dies in
    /// between, no notification is sent. The default.
    #[default]
    AfterCommit,
    /// In the transaction itself, if it has ordered messages: the notification is sent even if the process dies after the commit.
    /// **All transactions of the server that notify then commit one after another**, each for as long as its write to disk takes.
    WithCommit,
    /// Never: relays poll.
    Never,
}

/// Sends notifications in its own task.
pub(super) struct Notifier(mpsc::Sender<()>);

impl Notifier {
    /// Starts its task on the current runtime; the task ends when this handle is dropped.
    pub(super) fn start(pool: Pool) -> Self {
        let (request, requests) = mpsc::channel(1);
        if let Some(statement) = pool.dialect().notify {
            evenkeel_link::support::spawn(notify(pool, requests, statement));
        }
        Self(request)
    }

    /// Requests a notification; requests made before it is sent share it.
    pub(super) fn notify(&self) {
        let _ = self.0.try_send(());
    }
}

async fn notify(pool: Pool, mut requests: mpsc::Receiver<()>, statement: &'static str) {
    while requests.recv().await.is_some() {
        if !guard("commit_notifies") {
            continue;
        }
        let notified = async { pool.acquire().await?.execute(statement, &[]).await };
        if let Err(error) = notified.await {
            tracing::debug!(%error, "relays of other processes were not notified of a commit; they poll");
        }
    }
}
