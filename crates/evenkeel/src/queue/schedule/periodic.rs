//! Recurring jobs. Any number of processes may run the same schedule; each tick is enqueued once.
//!
//! The next tick of a schedule is always enqueued ahead of its time, so that it starts on time whichever processes run then. The store
//! has the last enqueued tick; advancing it is a compare-and-set that enqueues the next ticks in the same step.

use super::cron::Cron;
use super::shown::Shown;
use crate::handling::panics::catch_panic_of_call;
use crate::queue::metrics::conflict;
use crate::queue::queue::Queue;
use crate::queue::sharding::router::no_shard;
use bytes::Bytes;
use evenkeel_link::clock::{Clock, UnixMs};
use evenkeel_link::support::{Backoff, Recurring, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{JobId, Note};
use evenkeel_protocol::queue::register::ScheduleRecord;
use evenkeel_protocol::queue::steps::{ITEMS_MAX, NewJob, Shard, Tick, Ticked, When};
use jiff::{Timestamp, Zoned};
use std::sync::Arc;
use std::time::Duration;

/// The backoff between attempts to reach the store.
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_secs(5) };
/// The longest sleep, because the server's clock may be set meanwhile.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// What happens to ticks that were missed because no process ran the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// No missed tick is enqueued.
    Skip,
    /// The latest missed tick is enqueued.
    #[default]
    One,
    /// All missed ticks are enqueued, in order of their times.
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
    /// Begins a schedule called `name`, the same in every process that runs it: at each time of `cron` it enqueues a job with the body
    /// that `body` returns for that time. Its first tick is the first one after the schedule was first run.
    ///
    /// The next tick is enqueued ahead of its time: after a change of the expression, one tick of the old expression still runs.
    ///
    /// A name has one definition (expression, time zone, handling of missed ticks): the one that was registered last. A program registers
    /// its definition when it begins to run the schedule. Programs with another definition follow the registered one within a minute, with
    /// bodies of their own; the conflict is logged, and counted in `evenkeel_queue_conflicts_total`. No tick of the registered definition
    /// is lost.
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
    /// What happens to ticks that were missed because no process ran the schedule. Default: the latest is enqueued.
    pub fn missed(mut self, missed: Missed) -> Self {
        self.missed = missed;
        self
    }

    /// Enqueues ticks until `shutdown` is ready. During an outage of the store it retries; ticks of that time count as missed.
    ///
    /// # Errors
    /// [`QueueError::Codec`], [`QueueError::TooLarge`]: a body cannot be sent. [`QueueError::Invalid`]: the expression has no further
    /// occurrence, or `body` or the codec panicked. The tick was not enqueued, and counts as missed when the schedule runs again.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        tokio::select! {
            () = shutdown => Ok(()),
            error = self.keep_ticking() => Err(error),
        }
    }

    /// Returns only a permanent error.
    async fn keep_ticking(&self) -> QueueError {
        let core = self.queue.core();
        let mut plan = Plan::new(self.cron.clone(), self.missed);
        let shown = Arc::new(Shown::of(&core.name, &self.name));
        core.queues.reporter.add(&shown);
        let mut failures = 0;
        loop {
            match self.run_once(&mut plan).await {
                Ok(pause) => {
                    failures = 0;
                    shown.follow(plan.cron.as_ref(), plan.last);
                    core.clock.sleep(pause.min(SLEEP_MAX)).await;
                }
                Err(error @ QueueError::Link(_)) => {
                    if failures == 0 {
                        tracing::warn!(queue = %core.name, schedule = self.name, %error, "the next tick could not be enqueued; it is retried");
                    }
                    Clock::system().sleep(RETRY.delay(failures)).await;
                    failures += 1;
                }
                Err(error) => return error,
            }
        }
    }

    /// Advances the schedule if its last tick is due. Returns the time until the next call.
    async fn run_once(&self, plan: &mut Plan) -> Result<Duration, QueueError> {
        self.agree(plan).await?;
        let Some(cron) = plan.cron.clone() else { return Ok(SLEEP_MAX) };
        let core = self.queue.core();
        let now = core.store.now_ms();
        if let Some(last) = plan.last.filter(|last| *last > now) {
            // The enqueued tick is of another definition: earlier ticks of this definition must not be lost.
            let earlier = if plan.replan { next_after(&cron, now)?.filter(|next| unix_ms(*next) < last) } else { None };
            if let Some(next) = earlier {
                self.take_in(plan, Some(last), vec![next], unix_ms(next)).await?;
                return Ok(Duration::ZERO);
            }
            plan.replan = false;
            if plan.define {
                let own = record_of(&self.cron, self.missed);
                if let Err(error) = core.store.topics().define(&core.name, &self.name, &own).await {
                    plan.unregistered(&core.name, &self.name, error)?;
                    // Without a registered definition the next look defines it.
                    (plan.define, plan.follows) = (false, None);
                    return Ok(Duration::from_millis(last - now));
                }
                // Another program may have advanced the schedule meanwhile.
                (plan.define, plan.replan) = (false, true);
                return Ok(Duration::ZERO);
            }
            return Ok(Duration::from_millis(last - now));
        }
        let (ticks, last) = self.plan(&cron, plan.missed, plan.last, now)?;
        let seen = plan.last;
        self.take_in(plan, seen, ticks, last).await?;
        Ok(Duration::ZERO)
    }

    /// Reads the registered definition, and decides between it and that of this program, which is registered when the program begins.
    async fn agree(&self, plan: &mut Plan) -> Result<(), QueueError> {
        let core = self.queue.core();
        if plan.define || !guard("queue_schedule_agreed") {
            return Ok(());
        }
        let own = record_of(&self.cron, self.missed);
        let held = match core.store.topics().schedule(&core.name, &self.name).await {
            Ok(held) => held,
            Err(error) => return plan.unregistered(&core.name, &self.name, error),
        };
        let is_new = plan.follows.is_none();
        if held.is_some() && held == plan.follows {
            return Ok(());
        }
        match held {
            // The schedule is new, or the store was flushed and has lost the enqueued tick, too.
            None => (plan.define, plan.last) = (true, None),
            Some(held) if is_new && held == own => {}
            Some(held) => {
                let (counts, other) = if is_new { (&own, &held) } else { (&held, &own) };
                tracing::warn!(
                    queue = %core.name, schedule = self.name, ?counts, ?other,
                    "two programs define one schedule differently; the definition that was registered last applies"
                );
                conflict(&core.name, "schedule");
                plan.replan = true;
                if !is_new {
                    plan.follow(&held);
                    return Ok(());
                }
                plan.define = true;
            }
        }
        plan.replan |= plan.define;
        (plan.cron, plan.missed, plan.follows) = (Some(self.cron.clone()), self.missed, Some(own));
        Ok(())
    }

    /// Enqueues ticks, unless another program has advanced the schedule; updates the schedule's last tick in the plan.
    async fn take_in(
        &self,
        plan: &mut Plan,
        seen: Option<u64>,
        ticks: Vec<Timestamp>,
        last: u64,
    ) -> Result<(), QueueError> {
        let core = self.queue.core();
        let schedule = schedule_id(&self.name);
        let jobs = ticks.into_iter().map(|tick| self.job(tick, plan)).collect::<Result<_, _>>()?;
        let tick = Tick { schedule: schedule.0, seen, last, jobs };
        let store = &core.store;
        let ask = |shard: Shard, ticks: Vec<Tick>| async move {
            let mut answers = Vec::new();
            for tick in &ticks {
                answers.push(store.run(&shard, tick).await?);
            }
            Ok(answers)
        };
        let not_here = |answer: &Ticked| *answer == Ticked::OtherShard;
        plan.last = match core.router.route(&[tick], |_| schedule, ask, not_here).await?.first() {
            Some(Ticked::Moved) => Some(last),
            Some(Ticked::Elsewhere(other)) => *other,
            Some(Ticked::OtherShard) | None => return Err(no_shard(&core.name)),
        };
        Ok(())
    }

    /// The ticks to enqueue, and the time of the last one: the missed ticks according to `missed`, and the next tick.
    fn plan(
        &self,
        cron: &Cron,
        missed: Missed,
        last: Option<u64>,
        now: u64,
    ) -> Result<(Vec<Timestamp>, u64), QueueError> {
        let mut ticks = Vec::new();
        for time in cron.after(timestamp(last.unwrap_or(now))?) {
            let is_next = UnixMs::from(time).0 > now;
            match missed {
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
        Err(QueueError::Invalid(format!("the schedule {} has no further occurrence", self.name)))
    }

    /// The id of one tick's job. It is derived from the schedule's name and the tick's time, so that a caller can find, revoke or
    /// reschedule a tick.
    #[must_use]
    pub fn tick_id(schedule: &str, time: Timestamp) -> JobId {
        let mut id = JobId::named(format!("tick/{schedule}/{time}").as_bytes());
        // The last two bytes select the shard, so all ticks are in the shard of their schedule.
        id.0[14..].copy_from_slice(&schedule_id(schedule).0[14..]);
        id
    }

    fn job(&self, time: Timestamp, plan: &Plan) -> Result<NewJob, QueueError> {
        let at = UnixMs::from(time).0;
        let zone = plan.cron.as_ref().map_or_else(|| self.cron.zone(), Cron::zone).clone();
        // The user's code makes the body, encodes it and drops it.
        let make = || {
            let body = (self.body)(&time.to_zoned(zone));
            self.queue.job(&body).into_job(&self.queue)
        };
        let made = if guard("queue_schedule_body_caught") { catch_panic_of_call(make) } else { Ok(make()) };
        let made = made.map_err(|panic| {
            QueueError::Invalid(format!(
                "the body function of the schedule {} panicked for the tick at {time}: {panic}",
                self.name
            ))
        })?;
        let mut spec = made?.spec;
        spec.notes.push(Note::Name(Bytes::from(format!("{}/{time}", self.name))));
        Ok(NewJob { id: Self::tick_id(&self.name, time), when: When::At(at), spec })
    }
}

/// One program's state of a schedule that it runs.
struct Plan {
    /// The expression in use; `None` if this program cannot parse the registered one.
    cron: Option<Cron>,
    missed: Missed,
    /// The last enqueued tick.
    last: Option<u64>,
    /// The definition in use.
    follows: Option<ScheduleRecord>,
    /// The enqueued tick may be of another definition.
    replan: bool,
    /// The program's own definition is to be registered, once the enqueued tick is of it.
    define: bool,
    /// The failures that were logged.
    failing: Recurring,
}

impl Plan {
    fn new(cron: Cron, missed: Missed) -> Self {
        Self {
            cron: Some(cron),
            missed,
            last: None,
            follows: None,
            replan: false,
            define: false,
            failing: Recurring::default(),
        }
    }

    /// What to do without the register. If a repetition does not mend it (another program's value under its key, or no permission), the
    /// schedule runs on with the definition that it has, and this is logged.
    fn unregistered(&self, queue: &str, schedule: &str, error: QueueError) -> Result<(), QueueError> {
        if error.is_retryable() || !guard("queue_schedule_unregistered") {
            return Err(error);
        }
        if let Some(times) = self.failing.line_due("register", &"") {
            tracing::warn!(
                queue, schedule, %error, times,
                "the register of schedules could not be read or written; the schedule runs on with the definition of this program, and programs \
                 that define it differently do not notice that"
            );
        }
        Ok(())
    }

    /// Switches to the definition of another program.
    fn follow(&mut self, held: &ScheduleRecord) {
        let cron = held.cron.parse::<Cron>().and_then(|cron| cron.in_zone(&held.zone));
        if let Err(error) = &cron {
            tracing::error!(%error, "the registered definition could not be parsed; this program does not run the schedule");
        }
        self.cron = cron.ok();
        self.missed = match held.missed.as_str() {
            "skip" => Missed::Skip,
            "all" => Missed::All,
            _ => Missed::One,
        };
        self.follows = Some(held.clone());
    }
}

fn record_of(cron: &Cron, missed: Missed) -> ScheduleRecord {
    let missed = match missed {
        Missed::Skip => "skip",
        Missed::One => "one",
        Missed::All => "all",
    };
    let zone = cron.zone().iana_name().unwrap_or("UTC");
    ScheduleRecord { cron: cron.text().to_owned(), zone: zone.to_owned(), missed: missed.to_owned() }
}

fn next_after(cron: &Cron, now: u64) -> Result<Option<Timestamp>, QueueError> {
    Ok(cron.after(timestamp(now)?).find(|time| unix_ms(*time) > now))
}

fn unix_ms(time: Timestamp) -> u64 {
    UnixMs::from(time).0
}

fn schedule_id(name: &str) -> JobId {
    JobId::named(format!("schedule/{name}").as_bytes())
}

fn timestamp(ms: u64) -> Result<Timestamp, QueueError> {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.ok_or_else(|| QueueError::Invalid(format!("{ms} ms after 1970 is outside the calendar")))
}
