//! A sink that records its messages, and returns what a test configures.

use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError};
use std::sync::{Arc, Mutex};
use tokio::sync::{Semaphore, watch};

/// A sink that a test controls. Clones are the same sink.
#[derive(Clone)]
pub(super) struct Recorder(Arc<Inner>);

type Answer = Box<dyn Fn(&Envelope) -> Result<Confirmed, SinkError> + Send>;

struct Inner {
    answer: Mutex<Answer>,
    taken: Mutex<Vec<Envelope>>,
    calls: watch::Sender<usize>,
    /// A message passes with a permit.
    turns: Semaphore,
}

impl Recorder {
    /// Takes everything.
    pub(super) fn new() -> Self {
        let take = |_: &Envelope| Ok(Confirmed::Accepted);
        Self(Arc::new(Inner {
            answer: Mutex::new(Box::new(take)),
            taken: Mutex::default(),
            calls: watch::Sender::new(0),
            turns: Semaphore::new(Semaphore::MAX_PERMITS >> 1),
        }))
    }

    /// Holds every message until it is [released](Self::release).
    pub(super) fn holding() -> Self {
        let recorder = Self::new();
        let all = recorder.0.turns.available_permits();
        recorder.0.turns.forget_permits(all);
        recorder
    }

    /// Lets this many messages pass.
    pub(super) fn release(&self, messages: usize) {
        self.0.turns.add_permits(messages);
    }

    /// Answers this from now on.
    pub(super) fn answer(&self, answer: impl Fn(&Envelope) -> Result<Confirmed, SinkError> + Send + 'static) {
        *self.0.answer.lock().unwrap() = Box::new(answer);
    }

    /// Is away from now on.
    pub(super) fn go_away(&self) {
        self.answer(|_| Err(SinkError::Unavailable("gone fishing".to_owned())));
    }

    /// Takes everything from now on.
    pub(super) fn come_back(&self) {
        self.answer(|_| Ok(Confirmed::Accepted));
    }

    /// Payloads it has taken, in order.
    pub(super) fn taken(&self) -> Vec<String> {
        self.envelopes().iter().map(|envelope| String::from_utf8_lossy(&envelope.payload).into_owned()).collect()
    }

    /// What it has accepted, in order.
    pub(super) fn envelopes(&self) -> Vec<Envelope> {
        self.0.taken.lock().unwrap().clone()
    }

    /// Of one key.
    pub(super) fn sequences(&self, key: &str) -> Vec<u64> {
        let orders = self.envelopes().into_iter().filter_map(|envelope| envelope.order);
        orders.filter(|order| order.key == key).map(|order| order.sequence).collect()
    }

    /// How often it was asked.
    pub(super) fn calls(&self) -> usize {
        *self.0.calls.borrow()
    }

    /// Waits until it was asked so often.
    pub(super) async fn until_called(&self, times: usize) {
        self.0.calls.subscribe().wait_for(|calls| *calls >= times).await.unwrap();
    }
}

impl Sink for Recorder {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        self.0.calls.send_modify(|calls| *calls += 1);
        self.0.turns.acquire().await.unwrap().forget();
        let answer = self.0.answer.lock().unwrap()(message);
        if answer.is_ok() {
            self.0.taken.lock().unwrap().push(message.clone());
        }
        answer
    }
}

/// The same sink, but one that continues after a failure.
pub(super) struct Careless(pub(super) Recorder);

impl Sink for Careless {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        self.0.publish(message).await
    }

    async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let mut answers = Vec::new();
        for message in messages {
            answers.push(self.publish(message).await);
        }
        answers
    }
}
