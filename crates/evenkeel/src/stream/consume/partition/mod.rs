//! The worker of one partition: a single task that makes all calls for it, so that no two of them race.

mod calls;
mod held;
mod key_queues;
mod reads;
mod session;
pub(crate) mod wake_up;

use self::session::{End, Session};
use self::wake_up::Listener;
use super::run::Run;
use crate::handling::phase::Phase;
use crate::stream::consume::group::Ordering;
use evenkeel_link::support::Backoff;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::name::Partition;
use evenkeel_protocol::stream::steps::{Delivery, Join, Joined, Mode, Outcome, Reply};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{SetOnce, mpsc, oneshot};

/// The longest pause until a partition that another consumer owns is asked for again.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// The backoff after a failed call.
const REPEAT: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// What attempts send to their worker.
pub(crate) enum Message {
    /// An attempt has ended; without an outcome if its delivery was lost before it started.
    Ended { session: u64, delivery: Delivery, outcome: Option<Outcome> },
    /// A suspect runs alone from now on, or no longer.
    Alone { session: u64, delivery: Delivery, alone: bool, reply: oneshot::Sender<bool> },
}

pub(crate) type Inbox = mpsc::UnboundedReceiver<Message>;

/// The part of a consumer that serves one partition.
pub(crate) struct Worker<T> {
    pub(crate) run: Arc<Run<T>>,
    pub(crate) number: u16,
    pub(crate) partition: Partition,
    pub(crate) listener: Arc<Listener>,
    outbox: mpsc::UnboundedSender<Message>,
    inbox: tokio::sync::Mutex<Inbox>,
    /// The number of sessions so far. A message of an earlier one is ignored.
    sessions: AtomicU64,
    /// Set once everything is settled.
    pub(crate) done: SetOnce<()>,
}

impl<T> Worker<T> {
    pub(crate) fn new(run: &Arc<Run<T>>, number: u16, partition: Partition) -> Self {
        let (outbox, inbox) = mpsc::unbounded_channel();
        let base = &run.core.base;
        Self {
            listener: base.streams.listeners.open(&base.store, &partition),
            run: Arc::clone(run),
            number,
            partition,
            outbox,
            inbox: tokio::sync::Mutex::new(inbox),
            sessions: AtomicU64::new(0),
            done: SetOnce::new(),
        }
    }

    pub(crate) fn send(&self, message: Message) {
        // The receiver is in `self`, so sending cannot fail.
        let _ = self.outbox.send(message);
    }
}

/// Serves a partition until the consumer ends: one session after the other.
pub(crate) async fn work<T: Send + Sync + 'static>(worker: Arc<Worker<T>>) {
    let mut inbox = worker.inbox.lock().await;
    let run = &worker.run;
    let mut share = run.share.changes();
    let mut failures = 0;
    while run.phase() == Phase::Working && !run.core.base.store.is_closed() {
        share.borrow_and_update();
        let pause = match run.share.take() {
            None => POLL_EVERY,
            Some(owned) => match begin(&worker).await {
                Ok(Begun::Session(session)) => {
                    failures = 0;
                    match session.serve(&mut inbox, owned).await {
                        End::Missing => created_again(&worker).await,
                        End::Lost => REPEAT.delay(0),
                        End::Left => POLL_EVERY,
                        // The lease is left to expire, because a handler may still run.
                        End::Expires(lease) => lease,
                    }
                }
                Ok(Begun::Taken(free_in)) => free_in.min(POLL_EVERY),
                Ok(Begun::Missing) => created_again(&worker).await,
                Err(error) => {
                    run.metrics.failed("join", &error);
                    failures += 1;
                    REPEAT.delay(failures)
                }
            },
        };
        let mut phases = run.phases.clone();
        tokio::select! {
            () = run.core.base.clock.sleep(pause) => {}
            _ = phases.wait_for(|phase| *phase > Phase::Working) => {}
            _ = share.changed() => {}
        }
    }
    let _ = worker.done.set(());
}

enum Begun<T> {
    Session(Box<Session<T>>),
    /// Another consumer owns the partition, for this time unless it renews its lease.
    Taken(Duration),
    Missing,
}

/// Joins the group, and takes over the entries that are pending.
async fn begin<T: Send + Sync + 'static>(worker: &Arc<Worker<T>>) -> Result<Begun<T>, StreamError> {
    let run = &worker.run;
    let base = &run.core.base;
    let sent = base.clock.now();
    let lease_ms = run.settings.lease_ms();
    let join = Join { group: run.group.clone(), consumer: run.consumer, lease_ms, fence_floor: 0 };
    let (reader, left) = match base.store.run(&worker.partition, &join).await? {
        Reply::Done(Joined::Granted { reader, lease_left_ms }) => (reader, Duration::from_millis(lease_left_ms)),
        Reply::Done(Joined::Taken { free_in_ms }) => return Ok(Begun::Taken(Duration::from_millis(free_in_ms))),
        _ => return Ok(Begun::Missing),
    };
    let is_ordered = run.settings.ordering != Ordering::Unordered;
    if is_ordered != (reader.fence > 0) {
        return base.refuse(format!(
            "the group {:?} was created again by a program that disagrees whether it is ordered; use the same order everywhere",
            run.group
        ));
    }
    let number = worker.sessions.fetch_add(1, SeqCst) + 1;
    let ends = is_ordered.then(|| sent + left);
    let mut session = Session::new(Arc::clone(worker), number, reader, ends);
    match session.take_over().await {
        Ok(true) => Ok(Begun::Session(Box::new(session))),
        Err(End::Missing) => Ok(Begun::Missing),
        _ => Ok(Begun::Taken(REPEAT.delay(0))),
    }
}

/// Creates the partition and the group again; returns the pause before the next attempt.
async fn created_again<T>(worker: &Worker<T>) -> Duration {
    let run = &worker.run;
    let base = &run.core.base;
    let mode: Mode = run.settings.ordering.mode();
    let created = async {
        base.store.register().add_group(&base.name, &run.group, mode).await?;
        base.create_again(&worker.partition).await
    };
    match created.await {
        Ok(()) => REPEAT.delay(0),
        Err(error) => {
            run.metrics.failed("open", &error);
            POLL_EVERY
        }
    }
}
