//! A fleet whose processes take locks.

pub(in crate::lock) use crate::in_time;
use crate::rig::Fleet;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use testkit::CommandTrace;
use testkit::servers::Redis;

/// The ttl of the stories.
pub(in crate::lock) const TTL: Duration = Duration::from_secs(30);

/// A fleet of processes.
pub(in crate::lock) struct Rig(Fleet);

impl Deref for Rig {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.0
    }
}

impl Rig {
    pub(in crate::lock) fn memory() -> Self {
        Self(Fleet::memory())
    }

    pub(in crate::lock) async fn redis() -> Self {
        Self(Fleet::redis().await)
    }

    /// A key of the store's.
    pub(in crate::lock) fn key_of(&self, rest: &str) -> String {
        format!("{}:{rest}", self.prefix())
    }

    /// The key of a lock with this suffix.
    pub(in crate::lock) fn key(&self, name: &str, ending: &str) -> String {
        self.key_of(&format!("l:{{{name}}}:{ending}"))
    }

    /// Deletes the store's data about a lock.
    pub(in crate::lock) async fn forget(&self, name: &str) {
        for ending in ["lock", "fence", "waiters", "rw", "permits"] {
            let key = self.key(name, ending);
            self.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        }
    }

    /// Lets time pass in small steps, so that woken tasks run.
    pub(in crate::lock) async fn pass(&self, span: Duration) {
        let step = Duration::from_millis(500);
        let mut left = span;
        while !left.is_zero() {
            self.advance(step.min(left)).await;
            left = left.saturating_sub(step);
            // Real time, so that a server can answer before the clock moves on.
            let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
        }
    }
}

/// Waits until what is held under `renewed` was renewed: by then every renewal of what is over would have come, too. None may.
pub(in crate::lock) async fn renewed_alone(trace: &mut CommandTrace, redis: &Redis, renewed: &str, over: &str) {
    in_time(async {
        loop {
            let seen = trace.take(redis).await.unwrap().from_clients();
            let on = |name: &str| seen.0.iter().any(|command| command.arguments.iter().any(|word| word.contains(name)));
            assert!(!on(over), "{seen:?}");
            if on(renewed) {
                return;
            }
        }
    })
    .await;
}

/// Waits, without letting time pass, until `condition` holds.
pub(in crate::lock) async fn until(mut condition: impl AsyncFnMut() -> bool) {
    while !condition().await {
        tokio::task::yield_now().await;
    }
}

/// Whether a future is ready when it is polled once.
pub(in crate::lock) fn is_ready<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    matches!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_))
}
