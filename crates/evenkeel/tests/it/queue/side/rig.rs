//! A fleet whose processes have a queue of text.

pub(super) use crate::in_time;
use crate::rig::{Fleet, Store};
use evenkeel::queue::{JobId, Queue, QueueBuilder};
use evenkeel_protocol::queue::steps::{Found, State};
use std::ops::Deref;

/// A queue of text.
pub(super) type Mail = Queue<String>;

/// A fleet of processes, each with the queue `mail`.
pub(super) struct Rig(Fleet);

impl Deref for Rig {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.0
    }
}

impl Rig {
    pub(super) fn memory() -> Self {
        Self(Fleet::memory())
    }

    pub(super) async fn redis() -> Self {
        Self(Fleet::redis().await)
    }

    /// The queue `mail`, in its own process.
    pub(super) async fn mail(&self) -> Mail {
        self.mail_with(|builder| builder).await
    }

    /// The same with other settings.
    pub(super) async fn mail_with(&self, change: impl FnOnce(QueueBuilder<String>) -> QueueBuilder<String>) -> Mail {
        change(self.process().await.queue("mail")).open().await.unwrap()
    }

    /// Waits until no consumer is left to wake for the shard of this tag.
    pub(super) async fn until_notified(&self, tag: &str) {
        if matches!(self.store, Store::Memory(_)) {
            return;
        }
        let markers = redis::cmd("ZCARD").arg(format!("{tag}:wake")).clone();
        while self.command(tag.as_bytes(), &markers).await != redis::Value::Int(0) {}
    }
}

/// Where a job is; `None` once it has ended.
pub(super) async fn state(mail: &Mail, id: &JobId) -> Option<State> {
    match mail.find(id).await.unwrap() {
        Some(Found::Live { state, .. }) => Some(state),
        _ => None,
    }
}

/// Waits until a job has ended, without letting time pass.
pub(super) async fn ended(mail: &Mail, id: &JobId) {
    while state(mail, id).await.is_some() {
        tokio::task::yield_now().await;
    }
}
