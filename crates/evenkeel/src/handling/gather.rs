//! Gathers deliveries into batches and distributes the results of the handler.
//!
//! The rest of the consumer treats a batched delivery like any other: its attempt waits here for its result, and may be dropped at any
//! time. The batch runs in a task of its own, which ends early when all attempts of the batch were dropped.

use super::handler::Handler;
use super::panics::catch_panic;
use super::phase::{Phase, reached};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{InProgress, guard};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};

/// The batches of one consumer.
pub(crate) struct Gatherer<D, A> {
    size: usize,
    fill: Duration,
    /// Returns one result for each delivery.
    handler: Handler<Vec<D>, Vec<A>>,
    clock: Clock,
    phases: watch::Receiver<Phase>,
    forming: Mutex<Option<Arc<Forming<D, A>>>>,
    /// The number of batches that form or run.
    at_work: watch::Sender<usize>,
}

/// A batch that deliveries may still join.
struct Forming<D, A> {
    members: Mutex<Vec<Member<D, A>>>,
    full: Notify,
}

struct Member<D, A> {
    delivery: D,
    began: oneshot::Sender<()>,
    /// Closed when the delivery's attempt is dropped.
    answer: oneshot::Sender<Result<A, String>>,
}

/// The receivers of one delivery in a batch.
pub(crate) struct Ticket<A> {
    began: oneshot::Receiver<()>,
    answer: oneshot::Receiver<Result<A, String>>,
}

impl<A> Ticket<A> {
    /// Waits until the handler starts with the batch.
    pub(crate) async fn began(&mut self) {
        // An error means that the handler never starts; `answer` then returns an error.
        let _ = (&mut self.began).await;
    }

    /// Waits for this delivery's result; the message of the panic if the handler panicked.
    pub(crate) async fn answer(self) -> Result<A, String> {
        self.answer.await.unwrap_or_else(|_| Err("its batch ended without a result".to_owned()))
    }
}

impl<D, A> Gatherer<D, A> {
    /// Waits until no batch forms or runs.
    pub(crate) async fn idle(&self) {
        InProgress::until_none(&self.at_work).await;
    }
}

impl<D: Send + 'static, A: Send + 'static> Gatherer<D, A> {
    pub(crate) fn new(
        size: usize,
        fill: Duration,
        handler: Handler<Vec<D>, Vec<A>>,
        clock: Clock,
        phases: watch::Receiver<Phase>,
    ) -> Arc<Self> {
        let (at_work, _) = watch::channel(0);
        Arc::new(Self { size, fill, handler, clock, phases, forming: Mutex::default(), at_work })
    }

    /// Adds a delivery to the forming batch, or starts a batch with this delivery alone.
    pub(crate) fn join(self: &Arc<Self>, delivery: D, alone: bool) -> Ticket<A> {
        let (began, has_begun) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let member = Member { delivery, began, answer };
        if alone {
            let forming = self.form(member);
            forming.full.notify_one();
        } else {
            let mut open = self.forming.lock();
            match open.as_ref() {
                Some(forming) => forming.members.lock().push(member),
                None => *open = Some(self.form(member)),
            }
            if open.as_ref().is_some_and(|forming| forming.members.lock().len() >= self.size)
                && let Some(full) = open.take()
            {
                full.full.notify_one();
            }
        }
        Ticket { began: has_begun, answer: answered }
    }

    fn form(self: &Arc<Self>, first: Member<D, A>) -> Arc<Forming<D, A>> {
        let forming = Arc::new(Forming { members: Mutex::new(vec![first]), full: Notify::new() });
        let at_work = InProgress::begin(&self.at_work);
        let (gatherer, batch) = (Arc::clone(self), Arc::clone(&forming));
        evenkeel_link::support::spawn(async move {
            gatherer.fill(&batch).await;
            let members = std::mem::take(&mut *batch.members.lock());
            gatherer.run(members).await;
            drop(at_work);
        });
        forming
    }

    /// Waits until the batch is due to start, and closes it for further deliveries.
    async fn fill(&self, forming: &Arc<Forming<D, A>>) {
        tokio::select! {
            () = forming.full.notified() => {}
            () = self.fill_time() => {}
            () = async { reached(&mut self.phases.clone(), Phase::Draining).await } => {}
        }
        let mut open = self.forming.lock();
        if open.as_ref().is_some_and(|open| Arc::ptr_eq(open, forming)) {
            *open = None;
        }
    }

    async fn fill_time(&self) {
        if guard("queue_batch_fill") {
            self.clock.sleep(self.fill).await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Runs the handler until it returns or all attempts of the batch were dropped.
    async fn run(&self, members: Vec<Member<D, A>>) {
        let still_held = members.into_iter().filter(|member| !member.answer.is_closed());
        let (mut deliveries, mut answers) = (Vec::new(), Vec::new());
        for member in still_held {
            // Fails only if the attempt was dropped meanwhile.
            let _ = member.began.send(());
            deliveries.push(member.delivery);
            answers.push(member.answer);
        }
        if deliveries.is_empty() {
            return;
        }
        let answered = tokio::select! {
            biased;
            () = all_closed(&mut answers), if guard("queue_batch_cancel") => return,
            answered = catch_panic(async { (self.handler)(deliveries).await }) => answered,
        };
        match answered {
            Ok(each) => answers.into_iter().zip(each).for_each(|(sender, answer)| drop(sender.send(Ok(answer)))),
            Err(panic) => answers.into_iter().for_each(|sender| drop(sender.send(Err(panic.clone())))),
        }
    }
}

/// Waits until every attempt of the batch was dropped.
async fn all_closed<A>(answers: &mut [oneshot::Sender<Result<A, String>>]) {
    for answer in answers {
        answer.closed().await;
    }
}
