//! [`Consumer`]: a handler and the settings under which it runs.

use super::delivery::Delivery;
use super::handled::{Handled, Reaction};
use super::shard::{Run, ShardWorker};
use crate::handling::handler::{OnError, boxed};
use crate::handling::limit::TimeLimit;
use crate::handling::phase::{Phase, closed, drain};
use crate::handling::work::Work;
use crate::queue::consume::attempt::body::RecordBudget;
use crate::queue::consume::attempt::suspects::Suspects;
use crate::queue::consume::shard::{heartbeat, rescue, work};
use crate::queue::metrics::ConsumerMetrics;
use crate::queue::queue::{Core, Queue};
use crate::queue::sharding::shards::Shards;
use crate::queue::topic::carry_left_behind;
use evenkeel_link::support::{Background, Tried, guard, ms};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::CRASH_DELAY_MS_MAX;
use parking_lot::Mutex;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};

/// How often a consumer checks whether its topic has grown, with 25 % jitter.
const KEEP_UP: Duration = Duration::from_secs(5);

/// A handler and the settings under which it runs. Nothing happens until [`run`](Self::run).
#[must_use = "nothing is consumed until `run`"]
pub struct Consumer<T, E> {
    queue: Queue<T>,
    pub(super) work: Work<Delivery<T>, Handled, E>,
    reaction: OnError<E, Reaction>,
    /// The caller has set `on_error`.
    pub(super) reacts: bool,
    concurrency: usize,
    drain: Duration,
    time_limit: TimeLimit,
    crash_max: u8,
    crash_delay: Duration,
    /// The reason why this combination of settings is invalid.
    fault: Option<&'static str>,
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Begins a consumer. Each call of the handler receives one [`Delivery`]; many calls run concurrently. The handler returns `Ok(())`, a
    /// [`Handled`], or an error, which by default is retried. A panic counts as an error.
    ///
    /// The handler must be idempotent: it may run twice for the same job, because its process may die, or stop sending heartbeats for
    /// longer than its lease, after the work and before the settlement. Write [`Delivery::fence`], a fencing token, with each change, so
    /// that the result of the later run stays.
    pub fn consume<H, F, R, E>(&self, handler: H) -> Consumer<T, E>
    where
        H: Fn(Delivery<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Handled>,
        E: Display + Send + 'static,
    {
        Consumer::new(self.clone(), Work::One(boxed(handler)), 16)
    }
}

impl<T: Send + Sync + 'static, E: Display + Send + 'static> Consumer<T, E> {
    pub(super) fn new(queue: Queue<T>, work: Work<Delivery<T>, Handled, E>, concurrency: usize) -> Self {
        Self {
            queue,
            work,
            reaction: Arc::new(|_| Reaction::Retry),
            reacts: false,
            concurrency,
            drain: Duration::from_secs(25),
            time_limit: TimeLimit::default(),
            crash_max: 3,
            crash_delay: Duration::from_secs(10),
            fault: None,
        }
    }

    /// The same consumer with another handler. Its errors are retried until `on_error` is set.
    #[cfg(feature = "tower")]
    pub(super) fn with_work<F: Display + Send + 'static>(
        self,
        work: Work<Delivery<T>, Handled, F>,
        fault: Option<&'static str>,
    ) -> Consumer<T, F> {
        Consumer {
            drain: self.drain,
            time_limit: self.time_limit,
            crash_max: self.crash_max,
            crash_delay: self.crash_delay,
            fault: self.fault.or(fault),
            ..Consumer::new(self.queue, work, self.concurrency)
        }
    }

    /// The number of jobs that run at once in this process. Default 16, or the size of a batch if that is larger. The consumer claims no
    /// more jobs than it has free slots.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.concurrency = jobs;
        self
    }

    /// How long the first delivery of a batch waits for others. Default 10 ms. No effect on a handler of single deliveries.
    pub fn fill(mut self, time: Duration) -> Self {
        self.work.set_fill(time);
        self
    }

    /// Maps an error of the handler to the reaction to it. Default: [`Reaction::Retry`] for every error.
    pub fn on_error(mut self, reaction: impl Fn(&E) -> Reaction + Send + Sync + 'static) -> Self {
        self.reaction = Arc::new(reaction);
        self.reacts = true;
        self
    }

    setters! {
        /// How long running handlers may continue after the shutdown has begun. Default 25 s. Then the consumer drops them and releases their
        /// jobs at once, without using an attempt.
        pub fn drain(deadline: Duration) => drain = deadline;

        /// How long a handler may run; at least 1 ms. Then it is dropped, its [`cancellation`](Delivery::cancellation) fires, and its job is
        /// retried as after an error, until it becomes a dead letter. A batch is dropped as a whole. Default: without limit, because leases
        /// are extended as long as a handler runs.
        ///
        /// Not guaranteed: the end of a handler that blocks its thread, or of tasks and threads that it has started.
        pub fn handler_timeout(limit: Duration) => time_limit = TimeLimit(Some(limit));

        /// The number of crashes in a row after which a job becomes a dead letter, if its retries are limited and it crashed while no other
        /// suspect ran. A crash is the death of the process that ran the job. Default 3.
        ///
        /// Jobs that have crashed are suspects: a process runs at most a quarter of its [`concurrency`](Self::concurrency) of jobs with one
        /// crash at once, a sixteenth of jobs with two, and so on; other jobs run at the same time.
        pub fn crashes_max(crashes: u8) => crash_max = crashes;

        /// The delay before the next attempt after a crash. Default 10 s; it doubles with every crash, up to an hour.
        pub fn crash_delay(delay: Duration) => crash_delay = delay;
    }

    /// Consumes until `shutdown` is ready, then drains. During an outage of Redis the consumer keeps running: it settles finished jobs
    /// once Redis is back, and running jobs stay with this process unless another worker has taken their leases meanwhile.
    ///
    /// Dropping this future drops the handlers; their jobs are redelivered when their leases expire.
    ///
    /// # Errors
    /// [`QueueError::Settings`] if the settings of the consumer are invalid; [`QueueError::Link`] if the keel was shut down.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        let slots_max = self.checked()?;
        let deadline = self.drain;
        let core = Arc::clone(self.queue.core());
        let (phase, phases) = watch::channel(Phase::Working);
        let mut workers = ShardWorkers { run: self.into_run(slots_max, phases), all: Vec::new(), loops: Vec::new() };
        let mut shards = core.router.subscribe();
        let _topology = Background::spawn("queue shards", core.clock.clone(), {
            let core = Arc::clone(&core);
            move || keep_up(Arc::clone(&core))
        });
        tracing::info!(queue = %core.name, concurrency = slots_max, "consuming");
        let mut shutdown = std::pin::pin!(shutdown);
        let ended = loop {
            workers.open(&shards.borrow_and_update().clone());
            tokio::select! {
                biased;
                () = &mut shutdown => break Ok(()),
                error = closed(core.store.link()) => break Err(error),
                // The topic may have grown.
                _ = shards.changed() => {}
            }
        };
        tracing::info!(queue = %core.name, "draining");
        let all_done = async {
            for worker in &workers.all {
                worker.done.wait().await;
            }
        };
        drain(&phase, &core.clock, deadline, all_done).await;
        Ok(ended?)
    }

    /// The number of slots, if the settings are valid.
    fn checked(&self) -> Result<u32, QueueError> {
        let checked = self.fault.map_or(Ok(()), Err).and_then(|()| self.time_limit.check());
        let slots = checked.and_then(|()| self.work.slots(self.concurrency));
        slots.map_err(|reason| QueueError::Settings { queue: self.queue.name().to_owned(), reason: reason.to_owned() })
    }

    fn into_run(self, slots_max: u32, phases: watch::Receiver<Phase>) -> Arc<Run<T>> {
        let core = Arc::clone(self.queue.core());
        let run = Arc::new(Run {
            metrics: ConsumerMetrics::register(&core.name),
            slots: Arc::new(Semaphore::new(self.concurrency)),
            slots_max: self.concurrency,
            room: Notify::new(),
            suspects: Suspects::new(slots_max, core.settings.visibility, core.clock.clone()),
            workers: Mutex::default(),
            backlogged: AtomicUsize::new(0),
            handling: self.work.into_handling(self.reaction, &core.clock, &phases),
            phases,
            time_limit: self.time_limit,
            bodies: RecordBudget::default(),
            crash_max: self.crash_max,
            crash_delay_ms: ms(self.crash_delay).min(CRASH_DELAY_MS_MAX),
            core,
        });
        run.core.queues.reporter.add(&run);
        run
    }
}

/// The loops of one shard worker, each restarted if it panics.
fn loops<T: Send + Sync + 'static>(worker: &Arc<ShardWorker<T>>) -> [Background; 3] {
    let clock = &worker.run.core.clock;
    let (working, extending, rescuing) = (Arc::clone(worker), Arc::clone(worker), Arc::clone(worker));
    [
        Background::spawn("queue work", clock.clone(), move || work::work(Arc::clone(&working))),
        Background::spawn("queue heartbeat", clock.clone(), move || heartbeat::send_heartbeats(Arc::clone(&extending))),
        Background::spawn("queue rescue", clock.clone(), move || rescue::keep_rescuing(Arc::clone(&rescuing))),
    ]
}

/// Detects growth of the topic, and delivers batches that a killed shard migration has left between shards.
async fn keep_up<T: Send + Sync + 'static>(core: Arc<Core<T>>) {
    loop {
        core.clock.sleep(KEEP_UP.mul_f64(0.75 + rand::random::<f64>() / 2.0)).await;
        let registered = core.keep_registered().await;
        if let Err(error) = &registered {
            core.register_unread(error);
        }
        // The two registers are independent.
        if (registered.is_ok() || guard("queue_registers_independent"))
            && let Err(error) = follow_growth(&core).await
        {
            core.growth_unread(&error);
        }
    }
}

async fn follow_growth<T: Send + Sync + 'static>(core: &Core<T>) -> Result<(), QueueError> {
    let shards = core.router.look().await?;
    let mut tried = Tried::unless(QueueError::is_retryable);
    for number in 0..shards.before().unwrap_or(0) {
        tried.note(carry_left_behind(&core.store, &shards, shards.at(number)).await)?;
    }
    tried.finish()
}

/// The shard workers of one consumer. Dropping them aborts their handlers.
struct ShardWorkers<T> {
    run: Arc<Run<T>>,
    all: Vec<Arc<ShardWorker<T>>>,
    loops: Vec<Background>,
}

impl<T: Send + Sync + 'static> ShardWorkers<T> {
    /// Opens a worker for each shard that has none. Shards are never removed.
    fn open(&mut self, shards: &Shards) {
        let core = &self.run.core;
        for shard in shards.iter().skip(self.all.len()) {
            let listener = core.queues.listeners.open(&core.store, shard);
            let worker = Arc::new(ShardWorker::new(&self.run, shard.clone(), listener));
            self.run.workers.lock().push(Arc::downgrade(&worker));
            self.loops.extend(loops(&worker));
            self.all.push(worker);
        }
    }
}

impl<T> Drop for ShardWorkers<T> {
    fn drop(&mut self) {
        for worker in &self.all {
            for (_, task) in worker.running.take_unfinished() {
                if let Some(task) = task {
                    task.abort();
                }
            }
        }
    }
}
