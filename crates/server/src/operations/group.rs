//! Redrives and deletes a group of dead letters of a topic, in slices that can be stopped.

use super::failure::shards_problem;
use super::{Done, Failure, Operation};
use crate::kind::{PARTIAL, invalid};
use crate::queue::letters::{Bounds, Naming, select};
use crate::queue::slices::Slices;
use crate::roles::Action;
use evenkeel::queue::topic::{Filter, Topic};
use evenkeel::queue::{JobId, QueueError};
use serde_json::json;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::watch;
use web::Problem;

/// The total of an operation that still looks for its letters.
const UNKNOWN: u64 = u64::MAX;

/// Letters per second.
const RATE_MAX: u32 = 10_000;

/// What is done to letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Redrive {
        /// Letters per second; `None`: at once.
        rate: Option<u32>,
    },
    Delete,
}

/// Which letters, and what is done to them.
pub(crate) struct Group {
    /// Letters that a redrive of this name has sent back before are not sent back again.
    pub(crate) name: String,
    pub(crate) topic: Topic,
    pub(crate) what: What,
    pub(crate) naming: Naming,
    pub(crate) group: String,
    pub(crate) bounds: Bounds,
}

/// How far it is, and whether it is to be stopped after the current slice.
pub(crate) struct Progress {
    total: AtomicU64,
    earlier: AtomicU64,
    read: AtomicUsize,
    done: AtomicU64,
    stop: watch::Sender<bool>,
}

/// Finds the letters, all of them before anything is changed, and takes them. The result is `done` or `stopped`.
pub(crate) fn take<'a>(group: &'a Group, progress: &'a Progress) -> Operation<'a> {
    let Group { topic, bounds: Bounds { from, until }, .. } = group;
    let from = from.map(|from| format!("{}:{}", from.score, from.id));
    let target = json!({ "topic": topic.name(), "group": group.group, "from": from, "until": until });
    let run = group.run(progress);
    match group.what {
        What::Redrive { rate } => {
            Operation::new((Action::Redrive, "redrive"), topic.name(), target, run).with("rate", rate)
        }
        What::Delete => Operation::new((Action::Delete, "delete"), topic.name(), target, run)
            .confirmed_by("the topic's name", topic.name()),
    }
}

/// Stops it after its current slice.
pub(crate) fn stop<'a>(group: &'a Group, progress: &'a Progress) -> Operation<'a> {
    let run = async move {
        progress.stop.send_replace(true);
        Ok(Done::new("stopping", "Stop was requested: the slice that is being taken is the last one.", "stopping"))
    };
    let topic = group.topic.name();
    Operation::new((Action::Redrive, "stop"), topic, json!({ "operation": group.name, "topic": topic }), run)
}

impl What {
    /// # Errors
    /// The rate is 0, or above [`RATE_MAX`].
    pub(crate) fn redrive(rate: Option<u32>) -> Result<Self, Failure> {
        match rate {
            Some(rate) if !(1..=RATE_MAX).contains(&rate) => {
                let detail =
                    format!("The rate must be from 1 to {RATE_MAX}, or left out: at once. Nothing was changed.");
                Err(Failure::invalid(invalid("rate", detail), format!("--rate must be from 1 to {RATE_MAX}")))
            }
            rate => Ok(Self::Redrive { rate }),
        }
    }

    /// What has become of its letters.
    pub(crate) fn past(self) -> &'static str {
        match self {
            Self::Redrive { .. } => "sent back",
            Self::Delete => "deleted",
        }
    }
}

impl Progress {
    /// `done` letters were taken before.
    pub(crate) fn new(done: u64) -> Self {
        Self {
            total: AtomicU64::new(UNKNOWN),
            earlier: AtomicU64::new(done),
            read: AtomicUsize::new(0),
            done: AtomicU64::new(done),
            stop: watch::Sender::new(false),
        }
    }

    /// Letters that were sent back or deleted.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Letters that its name had taken before it began, in this process or another.
    pub(crate) fn earlier(&self) -> u64 {
        self.earlier.load(Ordering::Relaxed)
    }

    /// Letters that it takes; `None`: it still looks for them.
    pub(crate) fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN)
    }

    /// Letters that it has read.
    pub(crate) fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }
}

impl Group {
    async fn run(&self, progress: &Progress) -> Result<Done, Failure> {
        let go_on = |read: usize| {
            progress.read.store(read, Ordering::Relaxed);
            !*progress.stop.borrow()
        };
        let (past, mut end) = (self.what.past(), "stopped");
        if let Some(ids) = select(&self.topic, (self.naming, &self.group), self.bounds, go_on).await? {
            end = self.take(&ids, progress).await?;
        }
        let of = progress.total().map(|total| format!(" of {total}")).unwrap_or_default();
        let text = format!("{}{of} {past}: {end}", progress.done());
        Ok(Done::new(end, text.clone(), text))
    }

    async fn take(&self, ids: &[JobId], progress: &Progress) -> Result<&'static str, Failure> {
        let mut rate = None;
        if let What::Redrive { rate: limit } = self.what {
            rate = limit;
            let earlier = self.redrive(rate, &[]).await?;
            progress.earlier.store(earlier, Ordering::Relaxed);
            progress.done.store(earlier, Ordering::Relaxed);
        }
        progress.total.store(progress.done() + ids.len() as u64, Ordering::Relaxed);
        let mut slices = Slices::new(ids, rate, progress.stop.subscribe());
        while let Some(some) = slices.next().await {
            let done =
                match self.what {
                    What::Redrive { .. } => self.redrive(rate, some).await,
                    What::Delete => self.topic.delete_dead(some).await.map(|deleted| {
                        progress.done() + deleted.into_iter().filter(|was_dead| *was_dead).count() as u64
                    }),
                };
            let done = done.map_err(|error| {
                let (problem, done) = (shards_problem(error), progress.done());
                let kind = if done > 0 { PARTIAL } else { problem.kind() };
                let text = format!("{} {done} were {} before.", problem.detail(), self.what.past());
                Failure::invalid(Problem::new(kind, text.as_str()), text)
            })?;
            progress.done.store(done, Ordering::Relaxed);
        }
        Ok(if slices.is_stopped() { "stopped" } else { "done" })
    }

    /// Returns how many were sent back under the name, by earlier slices and by processes that have ended, too. None of them is sent back again.
    async fn redrive(&self, rate: Option<u32>, ids: &[JobId]) -> Result<u64, QueueError> {
        let filter = Filter { died_until: Some(self.bounds.until), ..Filter::default() };
        let mut redrive = self.topic.redrive(&self.name).filter(filter).only(ids.iter().copied());
        if let Some(rate) = rate {
            redrive = redrive.per_second(rate);
        }
        Ok(redrive.run().await?.taken_in_all)
    }
}
