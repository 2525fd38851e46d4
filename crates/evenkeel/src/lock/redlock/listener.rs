//! Notifications of several servers that a lock may be free.

use super::quorum::majority;
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_protocol::lock::node::NodeListener;
use evenkeel_protocol::lock::steps::{Call, WakeListener};
use std::future::{Future, poll_fn};
use std::task::Poll;

/// Is notified when a lock may be free.
///
/// A holder that gives it back does so on a majority; a contender that got too few servers clears up on a minority, and must not
/// wake everybody who waits: they would wake each other for ever.
pub(crate) struct RedlockListener {
    listeners: Vec<NodeListener>,
    /// Which of them sent a notification since the last time.
    told: Vec<bool>,
    enough: usize,
}

impl RedlockListener {
    pub(super) fn new(listeners: Vec<NodeListener>, servers: usize) -> Self {
        // With listeners on fewer than a majority of servers, all of them count.
        let enough = majority(servers).min(listeners.len());
        Self { told: vec![false; listeners.len()], listeners, enough }
    }
}

#[async_trait]
impl WakeListener for RedlockListener {
    /// Ready when a majority has said that another holder released the lock, or when that may have been missed.
    async fn called(&mut self, process: Token) -> Call {
        loop {
            let (at, is_message) = {
                let mut next: Vec<_> =
                    self.listeners.iter_mut().map(|listener| Box::pin(listener.next(process))).collect();
                poll_fn(move |context| {
                    for (at, next) in next.iter_mut().enumerate() {
                        if let Poll::Ready(is_message) = next.as_mut().poll(context) {
                            return Poll::Ready((at, is_message));
                        }
                    }
                    Poll::Pending
                })
                .await
            };
            self.told[at] = true;
            if !is_message || self.told.iter().filter(|told| **told).count() >= self.enough {
                self.told.fill(false);
                return Call::You;
            }
        }
    }
}
