//! Tells relays of other processes that a commit has left something for them, where the database can (PostgreSQL).
//!
//! After the commit and not in it: a notification takes a lock that all committing transactions of the server with one share, until
//! they are on the disk. Commits of a moment share one notification.

use crate::sql::database::Database;
use evenkeel_link::support::guard;
use sqlx::Pool;
use tokio::sync::mpsc;

/// When relays in other processes are told of what a commit left for them. Only PostgreSQL can tell; elsewhere, and after a
/// message that was lost, relays find it when they look (every second at the latest, by default).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WakeUp {
    /// Right after the commit, on another connection; commits of a moment share a notification. A process that dies in between
    /// tells nobody. The default.
    #[default]
    AfterCommit,
    /// In the transaction itself, if it has ordered messages: whoever dies afterwards, it was told. **All transactions of the
    /// server that notify commit one after another then**, each for as long as its write to the disk takes.
    WithCommit,
    /// Not at all: relays look by themselves.
    Never,
}

/// Notifies in a task of its own.
pub(super) struct Notifier(mpsc::Sender<()>);

impl Notifier {
    /// Starts its task on the current runtime; it ends with this handle.
    pub(super) fn start<DB: Database>(pool: Pool<DB>) -> Self {
        let (due, dues) = mpsc::channel(1);
        if let Some(statement) = DB::NOTIFY {
            tokio::spawn(notify(pool, dues, statement));
        }
        Self(due)
    }

    /// Soon; one that waits already stands for this one, too.
    pub(super) fn notify(&self) {
        let _ = self.0.try_send(());
    }
}

async fn notify<DB: Database>(pool: Pool<DB>, mut dues: mpsc::Receiver<()>, statement: &'static str) {
    while dues.recv().await.is_some() {
        if !guard("commit_notifies") {
            continue;
        }
        let notified = async { DB::execute(&mut *pool.acquire().await?, statement, &[]).await };
        if let Err(error) = notified.await {
            tracing::debug!(%error, "relays of other processes were not told of a commit; they look by themselves");
        }
    }
}
