//! Alerts: compares a topic's statistics with limits and reports changes.

use super::{JobState, Topic};
use crate::handling::panics::catch_panic_of_call;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Recurring, guard, ms};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::steps::ITEMS_MAX;
use evenkeel_protocol::queue::steps::{Stats, Totals};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The limits above which an alert is raised. `None` disables an alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertLimits {
    /// The number of waiting jobs (due or not).
    pub backlog_max: Option<u64>,
    /// How long the oldest due job has been waiting, in ms.
    pub late_ms_max: Option<u64>,
    /// The number of dead letters.
    pub dead_max: Option<u64>,
    /// How long jobs have been due while no consumer claims any, in ms: the consumers have stopped or hang.
    pub idle_ms_max: Option<u64>,
    /// How long a handler has been running one job, in ms. Every check reads the records of all running jobs.
    pub running_ms_max: Option<u64>,
}

/// The kind of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// Too many jobs wait.
    Backlog,
    /// A due job has waited too long.
    Late,
    /// There are too many dead letters.
    DeadLetters,
    /// Jobs are due and no consumer claims any.
    Idle,
    /// A handler has been running too long.
    LongRun,
    /// The topic could not be checked: Redis is away, or refuses the calls. The other alerts are unknown meanwhile.
    Unreachable,
}

/// A value rose above its limit, or fell back to it or below. Its `Display` form is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alert {
    /// The topic.
    pub topic: String,
    /// The kind of the alert.
    pub kind: AlertKind,
    /// Whether the alert is raised; `false`: it is resolved.
    pub raised: bool,
    /// The value: jobs, or ms. For [`AlertKind::Unreachable`] the time since the last successful check, in ms.
    pub value: u64,
    /// The limit of the value; 0 for [`AlertKind::Unreachable`].
    pub limit: u64,
    /// The job that has been running longest, for [`AlertKind::LongRun`].
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub job: Option<JobId>,
    /// The server's time, in ms since 1970; for a raised [`AlertKind::Unreachable`] this process's estimate of it.
    pub at_ms: u64,
}

fn as_text<S: serde::Serializer>(job: &Option<JobId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&job.map(|job| job.to_string()).unwrap_or_default())
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, value, limit, .. } = self;
        let seconds = |ms: &u64| Duration::from_millis(*ms);
        if !self.raised {
            write!(f, "resolved: ")?;
        }
        match self.kind {
            AlertKind::Backlog => write!(f, "queue {topic}: {value} jobs wait, the limit is {limit}"),
            AlertKind::Late => {
                write!(
                    f,
                    "queue {topic}: the oldest due job has waited for {:?}, the limit is {:?}",
                    seconds(value),
                    seconds(limit)
                )
            }
            AlertKind::DeadLetters => write!(f, "queue {topic}: {value} dead letters, the limit is {limit}"),
            AlertKind::Idle => write!(
                f,
                "queue {topic}: jobs have been due for {:?} and no consumer claims them, the limit is {:?}",
                seconds(value),
                seconds(limit)
            ),
            AlertKind::Unreachable if self.raised => write!(
                f,
                "queue {topic}: its store could not be read, last checked {:?} ago; check Redis and the connection to it",
                seconds(value)
            ),
            AlertKind::Unreachable => {
                write!(f, "queue {topic}: its store can be read again, after {:?}", seconds(value))
            }
            AlertKind::LongRun => {
                let job = self.job.map(|job| format!(" ({job})")).unwrap_or_default();
                write!(
                    f,
                    "queue {topic}: a job{job} has run for {:?}, the limit is {:?}",
                    seconds(value),
                    seconds(limit)
                )
            }
        }
    }
}

/// Checks a topic periodically against limits.
#[derive(Debug)]
pub struct Watch {
    topic: Topic,
    limits: AlertLimits,
    /// The alerts that are raised now.
    active: BTreeMap<AlertKind, Alert>,
    /// The totals at the previous check.
    before: Option<Totals>,
    /// When the topic was last checked, or the watch began.
    checked_at: Moment,
    /// The failures that were logged.
    failing: Recurring,
}

impl Watch {
    /// A watch without raised alerts.
    #[must_use]
    pub fn new(topic: Topic, limits: AlertLimits) -> Self {
        let checked_at = topic.clock.now();
        Self { topic, limits, active: BTreeMap::new(), before: None, checked_at, failing: Recurring::default() }
    }

    /// Checks the topic once; returns the alerts that are newly raised or resolved.
    ///
    /// # Errors
    /// [`QueueError::Link`]: the topic could not be checked, and no alert changes. [`check`](Self::check) makes that an alert.
    pub async fn look(&mut self) -> Result<Vec<Alert>, QueueError> {
        let stats = self.topic.stats_of_store().await?;
        let longest = match self.limits.running_ms_max {
            Some(_) => self.longest_run(stats.total.now).await?,
            None => None,
        };
        let late_ms = stats.late_ms();
        let idle_ms = if self.is_idle(&stats.total) { late_ms } else { 0 };
        self.before = Some(stats.total.totals);
        let (run_ms, job) = longest.map_or((0, None), |(ms, job)| (ms, Some(job)));
        let limits = self.limits;
        let figures = [
            (AlertKind::Backlog, limits.backlog_max, stats.total.waiting(), None),
            (AlertKind::Late, limits.late_ms_max, late_ms, None),
            (AlertKind::DeadLetters, limits.dead_max, stats.total.dead, None),
            (AlertKind::Idle, limits.idle_ms_max, idle_ms, None),
            (AlertKind::LongRun, limits.running_ms_max, run_ms, job),
        ];
        let watched = figures.into_iter().filter_map(|(kind, limit, value, job)| Some((kind, limit?, value, job)));
        let topic = self.topic.name().to_owned();
        let changes = watched.filter_map(|(kind, limit, value, job)| {
            let raised = value > limit;
            let alert = Alert { topic: topic.clone(), kind, raised, value, limit, job, at_ms: stats.total.now };
            let changed = raised != self.active.contains_key(&kind);
            if raised {
                self.active.insert(kind, alert.clone());
            } else {
                self.active.remove(&kind);
            }
            changed.then_some(alert)
        });
        Ok(changes.collect())
    }

    /// As [`look`](Self::look), but a topic that cannot be checked is an alert, too: [`AlertKind::Unreachable`] is raised by the first
    /// failed check and resolved by the next successful one. The other alerts stay as they were meanwhile.
    pub async fn check(&mut self) -> Vec<Alert> {
        let looked = self.look().await;
        let value = ms(self.topic.clock.now().since(self.checked_at));
        let alert = |raised, at_ms| Alert {
            topic: self.topic.name().to_owned(),
            kind: AlertKind::Unreachable,
            raised,
            value,
            limit: 0,
            job: None,
            at_ms,
        };
        self.failing.log("check", &looked, |error, times| {
            tracing::warn!(topic = self.topic.name(), %error, times, "the topic could not be checked");
        });
        match looked {
            Ok(mut changes) => {
                let resolved = alert(false, self.topic.now_ms());
                if self.active.remove(&AlertKind::Unreachable).is_some() {
                    changes.insert(0, resolved);
                }
                self.checked_at = self.topic.clock.now();
                changes
            }
            Err(_) => {
                let raised = alert(true, self.topic.now_ms());
                let is_new = self.active.insert(AlertKind::Unreachable, raised.clone()).is_none();
                if is_new && guard("watch_unreachable") { vec![raised] } else { Vec::new() }
            }
        }
    }

    /// The alerts that the latest check left raised.
    pub fn active(&self) -> impl Iterator<Item = &Alert> {
        self.active.values()
    }

    /// [Checks](Self::check) the topic at the interval `every`, forever, and calls `hook` with every change. A panic in `hook` is logged with
    /// its alert, and the watch continues with the next change. While `hook` blocks, this watch checks nothing.
    pub async fn run(mut self, every: Duration, mut hook: impl FnMut(&Alert)) {
        loop {
            for alert in self.check().await {
                if !guard("watch_hook_caught") {
                    hook(&alert);
                } else if let Err(panic) = catch_panic_of_call(|| hook(&alert)) {
                    tracing::error!(%alert, %panic, "the hook of a watch panicked; it may not have reported this alert");
                }
            }
            self.topic.clock.sleep(every).await;
        }
    }

    /// Whether jobs are due, none is running, and none has changed its state since the previous check.
    fn is_idle(&self, stats: &Stats) -> bool {
        // Without the totals that change although no consumer claims a job.
        let claimed = |totals| Totals { created: 0, revoked: 0, redriven: 0, deleted: 0, ghosts: 0, ..totals };
        let moved = |before| claimed(before) != claimed(stats.totals);
        let claimable = stats.ready > 0 && stats.paused_until.is_none();
        claimable && stats.leased == stats.lease_expired && !self.before.is_some_and(moved)
    }

    /// The job whose handler has been running longest, and for how long in ms. A delivery's fence is the time of its claim in µs, unless
    /// SQL had a higher fence.
    async fn longest_run(&self, now: u64) -> Result<Option<(u64, JobId)>, QueueError> {
        let mut longest = None;
        let mut after = None;
        loop {
            let page = self.topic.peek(JobState::Leased, after, ITEMS_MAX).await?;
            for seen in &page.jobs {
                let Ok(job) = &seen.job else { continue };
                let run_ms = now.saturating_sub(job.fence / 1_000);
                longest = longest.max(Some((run_ms, seen.id)));
            }
            after = page.next;
            if after.is_none() {
                return Ok(longest);
            }
        }
    }
}
