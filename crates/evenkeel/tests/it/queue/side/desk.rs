//! A handler that puts every delivery on the test's desk and waits for the test's answer.

use super::rig::Mail;
use evenkeel::queue::{Consumer, Delivery, Handled, QueueError};
use std::fmt::Display;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Receives the deliveries.
pub(super) struct Desk {
    sender: mpsc::UnboundedSender<Case>,
    cases: Mutex<mpsc::UnboundedReceiver<Case>>,
}

/// One delivery, whose handler waits.
pub(super) struct Case {
    pub(super) delivery: Delivery<String>,
    answer: oneshot::Sender<Result<Handled, String>>,
}

/// A consumer in its own task.
pub(super) struct Office {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), QueueError>>,
}

impl Desk {
    pub(super) fn new() -> Arc<Self> {
        let (sender, cases) = mpsc::unbounded_channel();
        Arc::new(Self { sender, cases: Mutex::new(cases) })
    }

    /// A consumer whose deliveries come here, four at once.
    pub(super) fn consumer(self: &Arc<Self>, mail: &Mail) -> Consumer<String, String> {
        let desk = self.sender.clone();
        mail.consume(move |delivery: Delivery<String>| {
            let desk = desk.clone();
            async move {
                let (answer, answered) = oneshot::channel();
                desk.send(Case { delivery, answer }).map_err(|_| "the desk is closed".to_owned())?;
                answered.await.map_err(|_| "the test did not answer".to_owned())?
            }
        })
        .concurrency(4)
    }

    /// The next delivery.
    pub(super) async fn next(&self) -> Case {
        self.cases.lock().await.recv().await.unwrap()
    }

    /// The next delivery, if everything that can happen without time or server has happened.
    pub(super) async fn next_at_once(&self) -> Option<Case> {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        self.cases.lock().await.try_recv().ok()
    }

    /// The next delivery, done at once; its body.
    pub(super) async fn done(&self) -> String {
        let case = self.next().await;
        let body = case.delivery.body.clone();
        case.answer(Ok(Handled::Done));
        body
    }
}

impl Case {
    /// The handler ends with this.
    pub(super) fn answer(self, answer: Result<Handled, String>) {
        // A handler that was dropped receives no outcome.
        let _ = self.answer.send(answer);
    }

    /// Waits until its handler is dropped.
    pub(super) async fn dropped(mut self) -> Delivery<String> {
        self.answer.closed().await;
        self.delivery
    }
}

/// Runs a consumer.
pub(super) fn open(consumer: Consumer<String, String>) -> Office {
    open_any(consumer)
}

/// Runs a consumer, whatever its handler's errors are.
pub(super) fn open_any<T: Send + Sync + 'static, E: Display + Send + 'static>(consumer: Consumer<T, E>) -> Office {
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(consumer.run(async {
        // Dropped or notified: both mean the end.
        let _ = stopped.await;
    }));
    Office { stop: Some(stop), task }
}

impl Office {
    /// Asks the consumer to end.
    pub(super) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Asks it, and waits until it has ended.
    pub(super) async fn close(mut self) {
        self.stop();
        self.task.await.unwrap().unwrap();
    }

    /// Ends like a killed process: nothing is settled or released.
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}
