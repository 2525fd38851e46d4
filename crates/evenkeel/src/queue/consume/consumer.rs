//! [`Consumer`]: a handler and how it is run.

use super::delivery::Delivery;
use super::handled::{Handled, Reaction};
use super::lane::{Handler, Lane, Run};
use super::phase::Phase;
use super::{beat, rescue, work};
use crate::background::Background;
use crate::link::{LinkError, LinkState};
use crate::queue::error::QueueError;
use crate::queue::metrics::ConsumerMetrics;
use crate::queue::queue::Queue;
use crate::queue::retry_delay::ms;
use crate::queue::store::QueueStore;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};

/// How long after the drain's end the last settlements may take, with a margin over what each lane allows itself.
const FAREWELL: Duration = Duration::from_secs(15);

type Run1<T, E> = dyn Fn(Delivery<T>) -> Pin<Box<dyn Future<Output = Result<Handled, E>> + Send>> + Send + Sync;

/// A handler and how it is run. Nothing happens until [`run`](Self::run).
#[must_use = "nothing is consumed until `run`"]
pub struct Consumer<T, E> {
    queue: Queue<T>,
    handler: Arc<Run1<T, E>>,
    reaction: Arc<dyn Fn(&E) -> Reaction + Send + Sync>,
    concurrency: usize,
    drain: Duration,
    crash_max: u8,
    crash_delay: Duration,
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
        Consumer {
            queue: self.clone(),
            handler: Arc::new(move |delivery| {
                let handled = handler(delivery);
                Box::pin(async move { handled.await.map(Into::into) })
            }),
            reaction: Arc::new(|_| Reaction::Retry),
            concurrency: 16,
            drain: Duration::from_secs(25),
            crash_max: 3,
            crash_delay: Duration::from_secs(10),
        }
    }
}

impl<T: Send + Sync + 'static, E: Display + Send + 'static> Consumer<T, E> {
    /// How many handlers run at once in this process. Default 16. No more jobs are claimed than there are free slots.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = handlers;
        self
    }

    /// What follows an error, by its kind. Default: another attempt, for any.
    pub fn on_error(mut self, reaction: impl Fn(&E) -> Reaction + Send + Sync + 'static) -> Self {
        self.reaction = Arc::new(reaction);
        self
    }

    /// How long running handlers may take to end once the shutdown has come. Default 25 s. Then they are dropped and their jobs
    /// given back at once, without using an attempt.
    pub fn drain(mut self, deadline: Duration) -> Self {
        self.drain = deadline;
        self
    }

    /// A job whose process died so often in a row while it ran is a dead letter (if its retries are limited). Default 3.
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
        let slots_max = u32::try_from(self.concurrency).ok().filter(|slots| (1..=10_000).contains(slots));
        let Some(slots_max) = slots_max else {
            return Err(QueueError::Settings {
                queue: self.queue.name().to_owned(),
                reason: "`concurrency` must be between 1 and 10,000".to_owned(),
            });
        };
        let drain = self.drain;
        let core = Arc::clone(self.queue.core());
        let (phase, phases) = watch::channel(Phase::Working);
        let lanes = Lanes(self.lanes(slots_max, phases));
        let _loops: Vec<Background> = lanes.0.iter().flat_map(|lane| loops(lane)).collect();
        tracing::info!(queue = %core.name, concurrency = slots_max, "consuming");
        let ended = tokio::select! {
            () = shutdown => Ok(()),
            error = closed(&core.store) => Err(error),
        };
        tracing::info!(queue = %core.name, "draining");
        phase.send_replace(Phase::Draining);
        let all_done = async {
            for lane in &lanes.0 {
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

    fn lanes(self, slots_max: u32, phases: watch::Receiver<Phase>) -> Vec<Arc<Lane<T>>> {
        let core = Arc::clone(self.queue.core());
        let run = Arc::new(Run {
            metrics: ConsumerMetrics::register(&core.name),
            slots: Arc::new(Semaphore::new(self.concurrency)),
            slots_max,
            room: Notify::new(),
            alone: tokio::sync::Mutex::new(()),
            hungry: AtomicUsize::new(0),
            phases,
            crash_max: self.crash_max,
            crash_delay_ms: ms(self.crash_delay),
            handler: judged(self.handler, self.reaction),
            core: Arc::clone(&core),
        });
        let ears = &core.keel.queues().ears;
        let lane = |shard: &crate::queue::steps::Shard| {
            let ear = ears.open(&core.store, shard);
            Arc::new(Lane::new(&run, shard.clone(), ear))
        };
        core.shards.iter().map(lane).collect()
    }
}

/// The handler with its errors judged.
fn judged<T: 'static, E: Display + Send + 'static>(
    handler: Arc<Run1<T, E>>,
    reaction: Arc<dyn Fn(&E) -> Reaction + Send + Sync>,
) -> Handler<T> {
    Arc::new(move |delivery| {
        let handled = handler(delivery);
        let reaction = Arc::clone(&reaction);
        Box::pin(async move { handled.await.map_err(|error| (reaction(&error), error.to_string())) })
    })
}

/// The loops of one lane, each started again if it panics.
fn loops<T: Send + Sync + 'static>(lane: &Arc<Lane<T>>) -> [Background; 3] {
    let clock = &lane.run.core.clock;
    let (working, beating, rescuing) = (Arc::clone(lane), Arc::clone(lane), Arc::clone(lane));
    [
        Background::spawn("queue work", clock.clone(), move || work::work(Arc::clone(&working))),
        Background::spawn("queue heartbeat", clock.clone(), move || beat::keep_beating(Arc::clone(&beating))),
        Background::spawn("queue rescue", clock.clone(), move || rescue::keep_rescuing(Arc::clone(&rescuing))),
    ]
}

/// Waits until the link is closed for good.
async fn closed(store: &QueueStore) -> LinkError {
    let Some(link) = store.link() else { return std::future::pending().await };
    let mut state = link.state();
    let _ = state.wait_for(|state| *state == LinkState::Closed).await;
    LinkError::Down { address: link.address(), reason: "the link was shut down".to_owned() }
}

/// The lanes of one consumer. If its future is dropped, their handlers are, too.
struct Lanes<T>(Vec<Arc<Lane<T>>>);

impl<T> Drop for Lanes<T> {
    fn drop(&mut self) {
        for lane in &self.0 {
            for (_, task) in lane.running.take_unfinished() {
                if let Some(task) = task {
                    task.abort();
                }
            }
        }
    }
}
