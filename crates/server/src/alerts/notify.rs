//! [`Notifier`]: sends notices to a webhook, and repeats those that it did not accept.

use super::evaluate::Notice;
use crate::webhook::Webhook;
use evenkeel::clock::{Clock, Moment};
use std::collections::VecDeque;
use std::time::Duration;

/// How long a notice is repeated.
const RETRY_MAX: Duration = Duration::from_secs(600);

/// The notices that wait at most; further ones replace the oldest.
const WAITING_MAX: usize = 1_000;

/// See the module. Notices arrive in order: a later one waits for an earlier one.
pub(super) struct Notifier {
    webhook: Webhook,
    clock: Clock,
    waiting: VecDeque<(Notice, Moment)>,
    /// So that a receiver that is away is reported once.
    is_failing: bool,
}

impl Notifier {
    pub(super) fn new(webhook: Webhook, clock: Clock) -> Self {
        Self { webhook, clock, waiting: VecDeque::new(), is_failing: false }
    }

    pub(super) fn add(&mut self, notice: Notice) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back((notice, self.clock.now()));
    }

    /// Sends what waits, until the receiver does not accept one. Each is tried again at the next call, for ten minutes.
    pub(super) async fn send(&mut self) {
        while let Some((notice, since)) = self.waiting.front() {
            let sent = match serde_json::to_string(notice) {
                Ok(body) => self.webhook.send(body).await,
                Err(error) => Err(error.into()),
            };
            if let Err(error) = sent {
                let is_over = self.clock.now().since(*since) >= RETRY_MAX;
                if is_over || !self.is_failing {
                    let end = if is_over { "giving up" } else { "retrying for ten minutes" };
                    eprintln!("the webhook did not accept {}: {error:#}; {end}", notice.id);
                }
                self.is_failing = true;
                if !is_over {
                    return;
                }
            } else {
                self.is_failing = false;
            }
            self.waiting.pop_front();
        }
    }

    /// Whether every notice was sent or given up.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
