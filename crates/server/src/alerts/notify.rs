//! [`Notifier`]: sends notices to a webhook, and repeats those that it did not accept.

use super::evaluate::Notice;
use crate::webhook::{Rejected, Webhook};
use anyhow::Result;
use evenkeel::clock::{Clock, Moment};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long a notice is repeated.
const RETRY_MAX: Duration = Duration::from_secs(600);

/// The notices that wait at most; further ones replace the oldest.
const WAITING_MAX: usize = 1_000;

/// A notice that the receiver has not accepted yet.
struct Waiting {
    notice: Notice,
    since: Moment,
    /// Whether its rejection was reported.
    is_reported: bool,
}

impl Waiting {
    /// What the notice is about: the notices of one alert are sent in order.
    fn alert(&self) -> (&'static str, String) {
        (self.notice.rule, self.notice.subject.clone())
    }
}

/// See the module. It sends in a task of its own: a receiver that hangs delays neither the next reading nor what is printed.
///
/// The notices of an alert arrive in order: a later one waits for an earlier one. Those of different alerts do not wait for each other.
pub(super) struct Notifier {
    notices: mpsc::Sender<Notice>,
    task: JoinHandle<()>,
}

impl Notifier {
    /// Starts the task. Rounds of repetitions are `pause` apart.
    pub(super) fn start(webhook: Webhook, clock: Clock, pause: Duration) -> Self {
        let (notices, receiver) = mpsc::channel(WAITING_MAX);
        let rounds = Rounds { webhook, clock, waiting: VecDeque::new(), is_away: false };
        Self { notices, task: tokio::spawn(rounds.run(receiver, pause)) }
    }

    /// Gives the notice to the task. It is reported and lost if the receiver has not answered for as many notices as may wait.
    pub(super) fn add(&self, notice: Notice) {
        if let Err(error) = self.notices.try_send(notice) {
            let notice = error.into_inner();
            eprintln!("{} is not sent to the webhook: {WAITING_MAX} notices wait for it", notice.id);
        }
    }

    /// Waits until every notice was sent or given up.
    pub(super) async fn finish(self) -> Result<()> {
        drop(self.notices);
        Ok(self.task.await?)
    }
}

/// The task.
struct Rounds {
    webhook: Webhook,
    clock: Clock,
    waiting: VecDeque<Waiting>,
    /// So that a receiver that is away is reported once.
    is_away: bool,
}

impl Rounds {
    /// Sends until there are no further notices and none waits.
    async fn run(mut self, mut notices: mpsc::Receiver<Notice>, pause: Duration) {
        loop {
            if self.waiting.is_empty() {
                let Some(notice) = notices.recv().await else { return };
                self.add(notice);
            }
            while let Ok(notice) = notices.try_recv() {
                self.add(notice);
            }
            self.send().await;
            if !self.waiting.is_empty() {
                self.clock.sleep(pause).await;
            }
        }
    }

    fn add(&mut self, notice: Notice) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting { notice, since: self.clock.now(), is_reported: false });
    }

    /// Sends what waits: each notice once, until the receiver does not answer at all. What it did not accept is tried again at the next
    /// call, for ten minutes, after the notices of other alerts.
    async fn send(&mut self) {
        let mut failed = BTreeSet::new();
        while let Some(first) = self.waiting.front().filter(|first| !failed.contains(&first.alert())) {
            let sent = match serde_json::to_string(&first.notice) {
                Ok(body) => self.webhook.send(body).await,
                Err(error) => Err(error.into()),
            };
            let Err(error) = sent else {
                self.is_away = false;
                self.waiting.pop_front();
                continue;
            };
            let is_rejected = error.is::<Rejected>();
            failed.extend(self.keep(&error, is_rejected));
            self.is_away = !is_rejected;
            if self.is_away {
                return;
            }
        }
    }

    /// Reports that the first notice was not accepted. Drops it if it has waited for too long, otherwise puts its alert behind the others.
    fn keep(&mut self, error: &anyhow::Error, is_rejected: bool) -> Option<(&'static str, String)> {
        let mut first = self.waiting.pop_front()?;
        let is_over = self.clock.now().since(first.since) >= RETRY_MAX;
        let is_known = if is_rejected { first.is_reported } else { self.is_away };
        if is_over || !is_known {
            let end = if is_over { "giving up" } else { "retrying for ten minutes" };
            eprintln!("the webhook did not accept {}: {error:#}; {end}", first.notice.id);
        }
        if is_over {
            return None;
        }
        first.is_reported |= is_rejected;
        let alert = first.alert();
        let (of_alert, others) = self.waiting.drain(..).partition::<VecDeque<_>, _>(|waiting| waiting.alert() == alert);
        self.waiting = others;
        self.waiting.push_back(first);
        self.waiting.extend(of_alert);
        Some(alert)
    }
}
