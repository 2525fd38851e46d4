//! Jobs that come again and again. Any number of processes may run the same schedule; each tick is enqueued once.
//!
//! The next tick always waits in the queue already, so that it starts on time whoever is alive then. The store keeps the last
//! tick that was taken in; who moves it on takes in what comes next, in the same step.

use super::cron::Cron;
use super::error::QueueError;
use super::job::{JobId, Note};
use super::queue::Queue;
use super::router::no_shard;
use super::steps::{ITEMS_MAX, NewJob, QueueSteps, Shard, Tick, Ticked, When};
use crate::clock::{Clock, UnixMs};
use crate::retry::Backoff;
use bytes::Bytes;
use jiff::{Timestamp, Zoned};
use std::sync::Arc;
use std::time::Duration;

/// Between attempts to reach the store.
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_secs(5) };
/// The longest sleep: the server's clock may be set meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(60);

impl From<Timestamp> for UnixMs {
    fn from(time: Timestamp) -> Self {
        Self(u64::try_from(time.as_millisecond()).unwrap_or(0))
    }
}

/// What becomes of ticks that came while no process ran the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// They are left out.
    Skip,
    /// The latest of them is made up for.
    #[default]
    One,
    /// All of them are made up for, in order of their times.
    All,
}

/// A schedule of a queue. Nothing happens until [`run`](Self::run).
#[must_use = "nothing is enqueued until `run`"]
pub struct Periodic<T> {
    queue: Queue<T>,
    name: String,
    cron: Cron,
    missed: Missed,
    body: Arc<dyn Fn(&Zoned) -> T + Send + Sync>,
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Begins a schedule called `name`, the same in every process that runs it: at each time of `cron` a job with the body
    /// that `body` makes of that time. Its first tick is the first one after the schedule was first run.
    ///
    /// The next tick waits in the queue ahead of its time: if the expression changes, one tick of the old one still comes.
    pub fn periodic(
        &self,
        name: impl Into<String>,
        cron: Cron,
        body: impl Fn(&Zoned) -> T + Send + Sync + 'static,
    ) -> Periodic<T> {
        Periodic { queue: self.clone(), name: name.into(), cron, missed: Missed::default(), body: Arc::new(body) }
    }
}

impl<T: Send + Sync + 'static> Periodic<T> {
    /// What becomes of ticks that came while no process ran the schedule. Default: the latest is made up for.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Enqueues ticks until `shutdown` is ready. An outage of the store is sat out; what came meanwhile counts as missed.
    ///
    /// # Errors
    /// [`QueueError::Codec`], [`QueueError::TooLarge`]: a body cannot be sent. [`QueueError::Invalid`]: the expression has no
    /// time left.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        tokio::select! {
            () = shutdown => Ok(()),
            error = self.keep_ticking() => Err(error),
        }
    }

    /// Ends only with an error that lasts.
    async fn keep_ticking(&self) -> QueueError {
        let core = self.queue.core();
        let mut last = None;
        let mut failures = 0;
        loop {
            match self.run_once(&mut last).await {
                Ok(pause) => {
                    failures = 0;
                    core.clock.sleep(pause.min(SLEEP_MAX)).await;
                }
                Err(error @ QueueError::Link(_)) => {
                    tracing::warn!(queue = %core.name, schedule = self.name, %error, "the next tick could not be enqueued yet");
                    Clock::system().sleep(RETRY.delay(failures)).await;
                    failures += 1;
                }
                Err(error) => return error,
            }
        }
    }

    /// Moves the schedule on if its last tick has come. Answers how long to wait until it is time again.
    async fn run_once(&self, last: &mut Option<u64>) -> Result<Duration, QueueError> {
        let core = self.queue.core();
        let now = core.store.now_ms();
        if let Some(next) = last.filter(|last| *last > now) {
            return Ok(Duration::from_millis(next - now));
        }
        let schedule = schedule_id(&self.name);
        let (ticks, new_last) = self.plan(*last, now)?;
        let jobs = ticks.into_iter().map(|tick| self.job(tick)).collect::<Result<_, _>>()?;
        let tick = Tick { schedule: schedule.0, seen: *last, last: new_last, jobs };
        let store = &core.store;
        let ask = |shard: Shard, ticks: Vec<Tick>| async move {
            let mut answers = Vec::new();
            for tick in &ticks {
                answers.push(store.tick(&shard, tick).await?);
            }
            Ok(answers)
        };
        let not_here = |answer: &Ticked| *answer == Ticked::OtherShard;
        *last = match core.router.route(&[tick], |_| schedule, ask, not_here).await?.first() {
            Some(Ticked::Moved) => Some(new_last),
            Some(Ticked::Elsewhere(other)) => *other,
            Some(Ticked::OtherShard) | None => return Err(no_shard(&core.name)),
        };
        Ok(Duration::ZERO)
    }

    /// The ticks to take in, and the last of them: what was missed, as far as it is made up for, and the next one.
    fn plan(&self, last: Option<u64>, now: u64) -> Result<(Vec<Timestamp>, u64), QueueError> {
        let mut ticks = Vec::new();
        for time in self.cron.after(timestamp(last.unwrap_or(now))?) {
            let is_next = UnixMs::from(time).0 > now;
            match self.missed {
                _ if is_next => {}
                Missed::Skip => continue,
                Missed::One => ticks.clear(),
                Missed::All => {}
            }
            ticks.push(time);
            if is_next || ticks.len() == ITEMS_MAX {
                return Ok((ticks, UnixMs::from(time).0));
            }
        }
        Err(QueueError::Invalid(format!("the schedule {} has no time left", self.name)))
    }

    /// The id of one tick's job: it follows from the schedule's name and the tick's time, so that a tick can be looked up,
    /// revoked or moved.
    #[must_use]
    pub fn tick_id(schedule: &str, time: Timestamp) -> JobId {
        let mut id = JobId::named(format!("tick/{schedule}/{time}").as_bytes());
        // All ticks of a schedule are in its shard.
        id.0[14..].copy_from_slice(&schedule_id(schedule).0[14..]);
        id
    }

    fn job(&self, time: Timestamp) -> Result<NewJob, QueueError> {
        let at = UnixMs::from(time).0;
        let body = (self.body)(&time.to_zoned(self.cron.zone().clone()));
        let mut spec = self.queue.job(&body).into_job(&self.queue)?.spec;
        spec.notes.push(Note::Name(Bytes::from(format!("{}/{time}", self.name))));
        Ok(NewJob { id: Self::tick_id(&self.name, time), when: When::At(at), spec })
    }
}

fn schedule_id(name: &str) -> JobId {
    JobId::named(format!("schedule/{name}").as_bytes())
}

fn timestamp(ms: u64) -> Result<Timestamp, QueueError> {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.ok_or_else(|| QueueError::Invalid(format!("{ms} ms after 1970 is no time of the calendar")))
}
