//! [`Consumer`]: a handler and how it is run.

use super::attempt::caught_call;
use super::batch::{Batch, BatchHandled};
use super::delivery::Delivery;
use super::handled::{Handled, Reaction};
use super::shard::{Handler, Handling, Lane, Run};
use crate::queue::consume::attempt::body::Room;
use crate::queue::consume::attempt::gather::{BatchHandler, Gatherer};
use crate::queue::consume::attempt::suspects::Suspects;
use crate::queue::consume::shard::phase::Phase;
use crate::queue::consume::shard::{heartbeat, rescue, work};
use crate::queue::metrics::ConsumerMetrics;
use crate::queue::queue::{Core, Queue};
use crate::queue::sharding::shards::Shards;
use crate::queue::store::QueueStore;
use crate::queue::topic::carry_left_behind;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::Background;
use evenkeel_link::{LinkError, LinkState};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::retry_delay::ms;
use evenkeel_protocol::queue::steps::CRASH_DELAY_MS_MAX;
use parking_lot::Mutex;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};

/// How long after the drain's end the last settlements may take, with a margin over what each lane allows itself.
const FAREWELL: Duration = Duration::from_secs(15);
/// How often a consumer looks whether its topic has grown, give or take a quarter.
const KEEP_UP: Duration = Duration::from_secs(5);

/// A handler of one delivery.
pub(super) type Handle<T, E> =
    dyn Fn(Delivery<T>) -> Pin<Box<dyn Future<Output = Result<Handled, E>> + Send>> + Send + Sync;

/// A handler of several.
pub(super) type HandleBatch<T, E> =
    dyn Fn(Batch<T>) -> Pin<Box<dyn Future<Output = Result<BatchHandled<E>, E>> + Send>> + Send + Sync;

/// What a consumer does with deliveries.
pub(super) enum Work<T, E> {
    One(Arc<Handle<T, E>>),
    Batch { size: usize, fill: Duration, handler: Arc<HandleBatch<T, E>> },
}

/// A handler and how it is run. Nothing happens until [`run`](Self::run).
#[must_use = "nothing is consumed until `run`"]
pub struct Consumer<T, E> {
    queue: Queue<T>,
    pub(super) work: Work<T, E>,
    reaction: Arc<dyn Fn(&E) -> Reaction + Send + Sync>,
    /// Somebody has said what follows an error.
    pub(super) reacts: bool,
    concurrency: usize,
    drain: Duration,
    crash_max: u8,
    crash_delay: Duration,
    /// Why it cannot work as it was put together.
    fault: Option<&'static str>,
}

impl<T: Send + Sync + 'static> Queue<T> {
    /// Begins a consumer. The handler gets one [`Delivery`] at a time, many of them at once, and answers `Ok(())`, a
    /// [`Handled`], or an error, which by default is worth another attempt. A panic is an error, too.
    ///
    /// It must bear being run twice for the same job: its process may die, or fall silent for longer than its lease, after
    /// the work and before the settlement. Write [`Delivery::fence`] with what it changes, to keep the second run's result.
    pub fn consume<H, F, R, E>(&self, handler: H) -> Consumer<T, E>
    where
        H: Fn(Delivery<T>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
        R: Into<Handled>,
        E: Display + Send + 'static,
    {
        let handler: Arc<Handle<T, E>> = Arc::new(move |delivery| {
            let handled = handler(delivery);
            Box::pin(async move { handled.await.map(Into::into) })
        });
        Consumer::new(self.clone(), Work::One(handler), 16)
    }
}

impl<T: Send + Sync + 'static, E: Display + Send + 'static> Consumer<T, E> {
    pub(super) fn new(queue: Queue<T>, work: Work<T, E>, concurrency: usize) -> Self {
        Self {
            queue,
            work,
            reaction: Arc::new(|_| Reaction::Retry),
            reacts: false,
            concurrency,
            drain: Duration::from_secs(25),
            crash_max: 3,
            crash_delay: Duration::from_secs(10),
            fault: None,
        }
    }

    /// The same consumer around another handler, whose errors are worth another attempt until somebody judges them.
    #[cfg(feature = "tower")]
    pub(super) fn with_work<F: Display + Send + 'static>(
        self,
        work: Work<T, F>,
        fault: Option<&'static str>,
    ) -> Consumer<T, F> {
        Consumer {
            drain: self.drain,
            crash_max: self.crash_max,
            crash_delay: self.crash_delay,
            fault: self.fault.or(fault),
            ..Consumer::new(self.queue, work, self.concurrency)
        }
    }

    /// How many jobs run at once in this process. Default 16, or the size of a batch if that is more. No more jobs are claimed
    /// than there are free slots.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.concurrency = jobs;
        self
    }

    /// How long the first delivery of a batch waits for others. Default 10 ms. Without a meaning for a handler of one delivery.
    pub fn fill(mut self, time: Duration) -> Self {
        if let Work::Batch { fill, .. } = &mut self.work {
            *fill = time;
        }
        self
    }

    /// What follows an error, by its kind. Default: another attempt, for any.
    pub fn on_error(mut self, reaction: impl Fn(&E) -> Reaction + Send + Sync + 'static) -> Self {
        self.reaction = Arc::new(reaction);
        self.reacts = true;
        self
    }

    /// How long running handlers may take to end once the shutdown has come. Default 25 s. Then they are dropped and their jobs
    /// given back at once, without using an attempt.
    pub fn drain(mut self, deadline: Duration) -> Self {
        self.drain = deadline;
        self
    }

    /// A job whose process died so often in a row while it ran is a dead letter (if its retries are limited), once that has happened with
    /// no other suspect beside it. Default 3.
    ///
    /// After a crash a process runs at most a quarter of its [`concurrency`](Self::concurrency) of such jobs at once, after two a
    /// sixteenth, and so on, and other jobs beside them.
    pub fn crashes_max(mut self, crashes: u8) -> Self {
        self.crash_max = crashes;
        self
    }

    /// How long a job waits after its process died. Default 10 s; doubles with every crash, up to an hour.
    pub fn crash_delay(mut self, delay: Duration) -> Self {
        self.crash_delay = delay;
        self
    }

    /// Consumes until `shutdown` is ready, then drains. An outage of Redis is sat out: what has ended is settled once it is
    /// back, and what ran stays with this process if its lease has not been taken meanwhile.
    ///
    /// Dropping this future drops the handlers; their jobs come back when their leases end.
    ///
    /// # Errors
    /// [`QueueError::Settings`] if the consumer cannot work as it is; [`QueueError::Link`] if the keel was shut down.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        let slots_max = self.checked()?;
        let drain = self.drain;
        let core = Arc::clone(self.queue.core());
        let (phase, phases) = watch::channel(Phase::Working);
        let mut lanes = Lanes { run: self.into_run(slots_max, phases), all: Vec::new(), loops: Vec::new() };
        let mut shards = core.router.subscribe();
        let _topology = Background::spawn("queue shards", core.clock.clone(), {
            let core = Arc::clone(&core);
            move || keep_up(Arc::clone(&core))
        });
        tracing::info!(queue = %core.name, concurrency = slots_max, "consuming");
        let mut shutdown = std::pin::pin!(shutdown);
        let ended = loop {
            lanes.open(&shards.borrow_and_update().clone());
            tokio::select! {
                biased;
                () = &mut shutdown => break Ok(()),
                error = closed(&core.store) => break Err(error),
                // The topic has grown, perhaps.
                _ = shards.changed() => {}
            }
        };
        tracing::info!(queue = %core.name, "draining");
        phase.send_replace(Phase::Draining);
        let all_done = async {
            for lane in &lanes.all {
                lane.done.wait().await;
            }
        };
        tokio::pin!(all_done);
        if core.clock.timeout(drain, &mut all_done).await.is_err() {
            phase.send_replace(Phase::Over);
            let _ = core.clock.timeout(FAREWELL, &mut all_done).await;
        }
        Ok(ended?)
    }

    /// How many slots it has, if it can work as it is.
    fn checked(&self) -> Result<u32, QueueError> {
        let refuse =
            |reason: &str| Err(QueueError::Settings { queue: self.queue.name().to_owned(), reason: reason.to_owned() });
        if let Some(fault) = self.fault {
            return refuse(fault);
        }
        if let Work::Batch { size, .. } = self.work
            && !(1..=self.concurrency).contains(&size)
        {
            return refuse("the size of a batch must be between 1 and `concurrency`, or no batch is ever full");
        }
        match u32::try_from(self.concurrency).ok().filter(|slots| (1..=10_000).contains(slots)) {
            Some(slots) => Ok(slots),
            None => refuse("`concurrency` must be between 1 and 10,000"),
        }
    }

    fn into_run(self, slots_max: u32, phases: watch::Receiver<Phase>) -> Arc<Run<T>> {
        let core = Arc::clone(self.queue.core());
        Arc::new(Run {
            metrics: ConsumerMetrics::register(&core.name),
            slots: Arc::new(Semaphore::new(self.concurrency)),
            room: Notify::new(),
            suspects: Suspects::new(slots_max, core.settings.visibility, core.clock.clone()),
            lanes: Mutex::default(),
            hungry: AtomicUsize::new(0),
            handling: handling(self.work, self.reaction, &core.clock, &phases),
            phases,
            bodies: Room::default(),
            crash_max: self.crash_max,
            crash_delay_ms: ms(self.crash_delay).min(CRASH_DELAY_MS_MAX),
            core,
        })
    }
}

type Judge<E> = Arc<dyn Fn(&E) -> Reaction + Send + Sync>;

fn handling<T: Send + Sync + 'static, E: Display + Send + 'static>(
    work: Work<T, E>,
    judge: Judge<E>,
    clock: &Clock,
    phases: &watch::Receiver<Phase>,
) -> Handling<T> {
    match work {
        Work::One(handler) => Handling::One(judged(handler, judge)),
        Work::Batch { size, fill, handler } => {
            Handling::Batch(Gatherer::new(size, fill, each_judged(handler, judge), clock.clone(), phases.clone()))
        }
    }
}

/// The handler with its errors judged.
fn judged<T: 'static, E: Display + Send + 'static>(handler: Arc<Handle<T, E>>, judge: Judge<E>) -> Handler<T> {
    Arc::new(move |delivery| {
        let handled = handler(delivery);
        let judge = Arc::clone(&judge);
        Box::pin(async move { handled.await.map_err(|error| reaction(&judge, &error)) })
    })
}

/// The batch handler with its errors judged, and one answer for each delivery.
fn each_judged<T: 'static, E: Display + Send + 'static>(
    handler: Arc<HandleBatch<T, E>>,
    judge: Judge<E>,
) -> BatchHandler<T> {
    Arc::new(move |batch| {
        let size = batch.deliveries.len();
        let handled = handler(batch);
        let judge = Arc::clone(&judge);
        Box::pin(async move {
            let judged = |error: E| reaction(&judge, &error);
            match handled.await {
                Ok(BatchHandled::All(handled)) => vec![Ok(handled); size],
                Ok(BatchHandled::Each(each)) => {
                    let none = || Err((Reaction::Retry, "the handler gave no answer for this delivery".to_owned()));
                    let given = each.into_iter().map(|answer| answer.map_err(judged));
                    given.chain(std::iter::repeat_with(none)).take(size).collect()
                }
                Err(error) => vec![Err(judged(error)); size],
            }
        })
    })
}

/// What follows an error, and its text. If the user's judgement or the error's own text panics, another attempt follows: in a batch only
/// for the delivery that it concerns.
fn reaction<E: Display>(judge: &Judge<E>, error: &E) -> (Reaction, String) {
    let text =
        caught_call(|| error.to_string()).unwrap_or_else(|words| format!("the text of the error panicked: {words}"));
    match caught_call(|| judge(error)) {
        Ok(reaction) => (reaction, text),
        Err(words) => (Reaction::Retry, format!("{text} (judging it panicked: {words})")),
    }
}

/// The loops of one lane, each started again if it panics.
fn loops<T: Send + Sync + 'static>(lane: &Arc<Lane<T>>) -> [Background; 3] {
    let clock = &lane.run.core.clock;
    let (working, beating, rescuing) = (Arc::clone(lane), Arc::clone(lane), Arc::clone(lane));
    [
        Background::spawn("queue work", clock.clone(), move || work::work(Arc::clone(&working))),
        Background::spawn("queue heartbeat", clock.clone(), move || heartbeat::keep_beating(Arc::clone(&beating))),
        Background::spawn("queue rescue", clock.clone(), move || rescue::keep_rescuing(Arc::clone(&rescuing))),
    ]
}

/// Waits until the link is closed for good.
async fn closed(store: &QueueStore) -> LinkError {
    let Some(link) = store.link() else { return std::future::pending().await };
    let mut state = link.state();
    let _ = state.wait_for(|state| *state == LinkState::Closed).await;
    link.why_down()
}

/// Learns when the topic has grown, and carries on what a mover that was killed has left on its way.
async fn keep_up<T: Send + Sync + 'static>(core: Arc<Core<T>>) {
    loop {
        core.clock.sleep(KEEP_UP.mul_f64(0.75 + rand::random::<f64>() / 2.0)).await;
        if let Err(error) = keep_up_once(&core).await {
            tracing::debug!(queue = %core.name, %error, "cannot look whether the topic has grown; looking again");
        }
    }
}

async fn keep_up_once<T: Send + Sync + 'static>(core: &Core<T>) -> Result<(), QueueError> {
    core.keep_registered().await?;
    let shards = core.router.look().await?;
    for number in 0..shards.before().unwrap_or(0) {
        carry_left_behind(&*core.store, &shards, shards.at(number)).await?;
    }
    Ok(())
}

/// The lanes of one consumer. If its future is dropped, their handlers are, too.
struct Lanes<T> {
    run: Arc<Run<T>>,
    all: Vec<Arc<Lane<T>>>,
    loops: Vec<Background>,
}

impl<T: Send + Sync + 'static> Lanes<T> {
    /// Opens a lane for each shard that has none. A shard that is there stays.
    fn open(&mut self, shards: &Shards) {
        let core = &self.run.core;
        for shard in shards.iter().skip(self.all.len()) {
            let ear = core.keel.queues().ears.open(&core.store, shard);
            let lane = Arc::new(Lane::new(&self.run, shard.clone(), ear));
            self.run.lanes.lock().push(Arc::downgrade(&lane));
            self.loops.extend(loops(&lane));
            self.all.push(lane);
        }
    }
}

impl<T> Drop for Lanes<T> {
    fn drop(&mut self) {
        for lane in &self.all {
            for (_, task) in lane.running.take_unfinished() {
                if let Some(task) = task {
                    task.abort();
                }
            }
        }
    }
}
