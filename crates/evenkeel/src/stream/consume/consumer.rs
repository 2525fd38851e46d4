//! [`Consumer`]: a handler and the settings under which it runs.

use super::entry::Entry;
use super::group::{self, GroupSettings, Ordering};
use super::handled::{Handled, Reaction};
use super::partition::{Worker, work};
use super::run::{InFlight, Run, Slots};
use super::share::{Share, keep_attending, stop_attending};
use super::upkeep::keep_up;
use crate::handling::handler::OnError;
use crate::handling::limit::TimeLimit;
use crate::handling::phase::{FAREWELL, Phase, closed, drain};
use crate::handling::work::Work;
use crate::stream::metrics::ConsumerMetrics;
use crate::stream::stream::Stream;
use evenkeel_link::Token;
use evenkeel_link::support::Background;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::name::{GroupName, check_addressable};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{RwLock, watch};

/// The most entries of a partition that may wait in a process.
const BUFFER_MAX: usize = 100_000;

/// A handler and the settings under which it runs. Nothing happens until [`run`](Self::run).
#[must_use = "nothing is consumed until `run`"]
pub struct Consumer<T, E> {
    stream: Stream<T>,
    group: String,
    settings: GroupSettings,
    work: Work<Entry<T>, Handled, E>,
    reaction: OnError<E, Reaction>,
    concurrency: usize,
    buffer: usize,
    drain: Duration,
    time_limit: TimeLimit,
}

impl<T: Send + Sync + 'static, E: Display + Send + 'static> Consumer<T, E> {
    pub(super) fn new(
        stream: Stream<T>,
        group: String,
        settings: GroupSettings,
        work: Work<Entry<T>, Handled, E>,
        concurrency: usize,
    ) -> Self {
        Self {
            stream,
            group,
            settings,
            work,
            reaction: Arc::new(|_| Reaction::Retry),
            concurrency,
            buffer: 256,
            drain: Duration::from_secs(25),
            time_limit: TimeLimit::default(),
        }
    }

    setters! {
        /// The number of entries that run at once in this process. Default 16, or the size of a batch if that is larger. An unordered consumer
        /// reads no more entries than it has free slots.
        pub fn concurrency(entries: usize) => concurrency = entries;

        /// The number of entries of a partition that an ordered consumer holds: those that run, and those that wait for an earlier entry of
        /// their key or for a slot. Default 256. Once entries that wait for a retry fill it, the partition is not read until one of them is
        /// done, which is logged and counted (`evenkeel_stream_blocked_total`). Entries that are delivered again may exceed it up to twice.
        pub fn buffer(entries: usize) => buffer = entries;
    }

    /// How long the first entry of a batch waits for others. Default 10 ms. Without effect on a handler of single entries.
    pub fn fill(mut self, time: Duration) -> Self {
        self.work.set_fill(time);
        self
    }

    /// Maps an error of the handler to the reaction to it. Default: [`Reaction::Retry`] for every error.
    pub fn on_error(mut self, reaction: impl Fn(&E) -> Reaction + Send + Sync + 'static) -> Self {
        self.reaction = Arc::new(reaction);
        self
    }

    setters! {
        /// How long running handlers may continue after the shutdown has begun, or after the consumer has decided to return a partition.
        /// Default 25 s. At the shutdown the consumer then drops them and releases their entries at once, without using an attempt. A
        /// partition that is to be returned then waits for the end of its lease.
        pub fn drain(deadline: Duration) => drain = deadline;

        /// How long a handler may run; at least 1 ms. Then it is dropped, its [`cancellation`](Entry::cancellation) fires, and its entry is
        /// retried as after an error, until it becomes a dead letter. A batch is dropped as a whole. Default: without limit, because leases
        /// are extended as long as a handler runs.
        ///
        /// Not guaranteed: the end of a handler that blocks its thread, or of tasks and threads that it has started.
        pub fn handler_timeout(limit: Duration) => time_limit = TimeLimit(Some(limit));
    }

    /// Consumes until `shutdown` is ready, then drains. Creates the group, if it does not exist. During an outage of Redis an unordered
    /// consumer keeps running until its leases have passed; an ordered one cancels the handlers of a partition when its lease has passed.
    ///
    /// Dropping this future drops the handlers; their entries are delivered again when their leases expire.
    ///
    /// # Errors
    /// [`StreamError::Settings`] if the settings are invalid, or other programs consume the group in another order;
    /// [`StreamError::Invalid`]: the name of the group; [`StreamError::Link`] if the group cannot be created, or the keel was shut down;
    /// [`StreamError::Database`] if it cannot be registered in the database of the stream.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), StreamError> {
        self.check()?;
        let group = GroupName::new(&self.group)?;
        check_addressable("group", &self.group)?;
        let core = Arc::clone(self.stream.core());
        group::open(&core, &group, &self.settings).await?;
        let (phase, phases) = watch::channel(Phase::Working);
        let deadline = self.drain;
        tracing::info!(stream = %core.base.name, %group, concurrency = self.concurrency, "consuming");
        let run = self.into_run(group, phases);
        let partitions = (0..).zip(&core.base.partitions);
        let workers: Vec<Arc<Worker<T>>> =
            partitions.map(|(number, partition)| Arc::new(Worker::new(&run, number, partition.clone()))).collect();
        let loops = loops(&run, &workers);
        let ended = tokio::select! {
            biased;
            () = shutdown => Ok(()),
            error = closed(core.base.store.link()) => Err(error),
        };
        tracing::info!(stream = %core.base.name, group = %run.group, "draining");
        let all_done = async {
            for worker in &workers {
                worker.done.wait().await;
            }
        };
        let clock = &core.base.clock;
        drain(&phase, clock, deadline, all_done).await;
        drop(loops);
        let _ = clock.timeout(FAREWELL, stop_attending(&run)).await;
        Ok(ended?)
    }

    fn check(&self) -> Result<(), StreamError> {
        let base = &self.stream.core().base;
        if let Err(reason) = self.settings.check(base.record.partitions) {
            return base.refuse(reason);
        }
        if let Err(reason) = self.work.slots(self.concurrency) {
            return base.refuse(reason);
        }
        if let Err(reason) = self.time_limit.check() {
            return base.refuse(reason);
        }
        if !(1..=BUFFER_MAX).contains(&self.buffer) {
            return base.refuse("`buffer` must be between 1 and 100,000");
        }
        Ok(())
    }

    fn into_run(self, group: GroupName, phases: watch::Receiver<Phase>) -> Arc<Run<T>> {
        let core = Arc::clone(self.stream.core());
        let is_ordered = self.settings.ordering != Ordering::Unordered;
        let run = Arc::new(Run {
            metrics: ConsumerMetrics::register(&core.base.name, &group.as_str().into()),
            group,
            consumer: Token::random(),
            handling: self.work.into_handling(self.reaction, &core.base.clock, &phases),
            slots: Slots::new(self.concurrency),
            gate: Arc::new(RwLock::new(())),
            in_flight: Arc::<InFlight>::default(),
            phases,
            buffer: self.buffer,
            drain: self.drain,
            time_limit: self.time_limit,
            share: Share::new(if is_ordered { 0 } else { core.base.partitions.len() }),
            settings: self.settings,
            core,
        });
        run.core.base.streams.reporter.add(&run);
        run
    }
}

/// The loops of a consumer, each restarted if it panics.
fn loops<T: Send + Sync + 'static>(run: &Arc<Run<T>>, workers: &[Arc<Worker<T>>]) -> Vec<Background> {
    let clock = &run.core.base.clock;
    let worker_loop = |worker: &Arc<Worker<T>>| {
        let worker = Arc::clone(worker);
        Background::spawn("stream partition", clock.clone(), move || work(Arc::clone(&worker)))
    };
    let mut all: Vec<Background> = workers.iter().map(worker_loop).collect();
    let upkeep = Arc::clone(run);
    all.push(Background::spawn("stream upkeep", clock.clone(), move || keep_up(Arc::clone(&upkeep))));
    if run.settings.ordering != Ordering::Unordered {
        let attending = Arc::clone(run);
        all.push(Background::spawn("stream share", clock.clone(), move || keep_attending(Arc::clone(&attending))));
    }
    all
}
