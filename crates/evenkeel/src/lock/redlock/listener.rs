//! Notifications from several servers that a lock may be free.

use super::quorum::majority;
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_protocol::lock::node::NodeListener;
use evenkeel_protocol::lock::steps::{Call, WakeListener};
use futures_util::future::select_all;

/// A listener that is notified when a lock may be free.
///
/// A holder releases the lock on a majority of servers, a failed contender on a minority. Notifications of a minority are ignored, because
/// otherwise contenders would wake each other forever (a thundering herd).
pub(crate) struct RedlockListener {
    listeners: Vec<Box<dyn NodeListener>>,
    /// Which servers have sent a notification since the last wake-up.
    notified: Vec<bool>,
    enough: usize,
}

impl RedlockListener {
    /// There is at least one listener.
    pub(super) fn new(listeners: Vec<Box<dyn NodeListener>>, servers: usize) -> Self {
        // With listeners on fewer than a majority of servers, all of them count.
        let enough = majority(servers).min(listeners.len());
        Self { notified: vec![false; listeners.len()], listeners, enough }
    }
}

#[async_trait]
impl WakeListener for RedlockListener {
    /// Completes when a majority has reported a release, or when a notification may have been missed.
    async fn called(&mut self, process: Token) -> Call {
        loop {
            let next = self.listeners.iter_mut().map(|listener| listener.next(process));
            let (is_message, at, _) = select_all(next).await;
            self.notified[at] = true;
            if !is_message || self.notified.iter().filter(|notified| **notified).count() >= self.enough {
                self.notified.fill(false);
                return Call::You;
            }
        }
    }
}
