//! A fleet whose processes have a stream of text, and a handler that puts every entry on the test's desk and waits for the test's answer.

pub(super) use crate::in_time;
use crate::rig::Fleet;
use evenkeel::stream::admin::{DeadLetter, GroupState};
use evenkeel::stream::{Consumer, Entry, EntryId, Group, Handled, Stream, StreamBuilder, StreamError};
use std::fmt::Display;
use std::ops::Deref;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

/// A stream of text.
pub(super) type Orders = Stream<String>;

/// A fleet of processes, each with the stream `orders`.
pub(super) struct Rig(Fleet);

impl Deref for Rig {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.0
    }
}

impl Rig {
    pub(super) fn memory() -> Self {
        Self(Fleet::memory())
    }

    pub(super) async fn redis() -> Self {
        Self(Fleet::redis().await)
    }

    /// The stream `orders` with so many partitions, in its own process.
    pub(super) async fn orders(&self, partitions: u16) -> Orders {
        self.orders_with(|builder| builder.partitions(partitions)).await
    }

    /// The same with other settings.
    pub(super) async fn orders_with(
        &self,
        change: impl FnOnce(StreamBuilder<String>) -> StreamBuilder<String>,
    ) -> Orders {
        change(self.process().await.stream("orders")).open().await.unwrap()
    }
}

/// Appends texts with one key.
pub(super) async fn append(orders: &Orders, key: &str, values: &[&str]) {
    for value in values {
        orders.append(key, &(*value).to_owned()).await.unwrap();
    }
}

/// The state of the group `billing`.
pub(super) async fn billing(orders: &Orders) -> GroupState {
    let groups = orders.admin().groups().await.unwrap();
    groups.into_iter().find(|group| group.name == "billing").unwrap()
}

/// Waits until nothing is unread or pending, without letting time pass.
pub(super) async fn all_settled(orders: &Orders) {
    loop {
        let state = billing(orders).await;
        if state.pending() == 0 && state.lag().is_none() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// The dead letters of the group in all partitions.
pub(super) async fn letters(orders: &Orders) -> Vec<DeadLetter> {
    let dead = orders.admin().dead("billing").unwrap();
    let mut all = Vec::new();
    for partition in 0..orders.admin().partitions() {
        all.extend(dead.list(partition, EntryId::MIN, 100).await.unwrap());
    }
    all
}

/// The reason of a dead letter.
pub(super) fn reason(letter: &DeadLetter) -> String {
    let note = letter.tries.as_ref().unwrap().notes.last().unwrap();
    String::from_utf8(note.text.to_vec()).unwrap()
}

/// Receives the entries.
pub(super) struct Desk {
    sender: mpsc::UnboundedSender<Case>,
    cases: Mutex<mpsc::UnboundedReceiver<Case>>,
}

/// One entry, whose handler waits.
pub(super) struct Case {
    pub(super) entry: Entry<String>,
    answer: oneshot::Sender<Result<Handled, String>>,
}

/// A consumer in its own task.
pub(super) struct Office {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), StreamError>>,
}

impl Desk {
    pub(super) fn new() -> Arc<Self> {
        let (sender, cases) = mpsc::unbounded_channel();
        Arc::new(Self { sender, cases: Mutex::new(cases) })
    }

    /// A consumer whose entries come here, four at once.
    pub(super) fn consumer(self: &Arc<Self>, group: Group<String>) -> Consumer<String, String> {
        let desk = self.sender.clone();
        let consumer = group.handle(move |entry: Entry<String>| {
            let desk = desk.clone();
            async move {
                let (answer, answered) = oneshot::channel();
                desk.send(Case { entry, answer }).map_err(|_| "the desk is closed".to_owned())?;
                answered.await.map_err(|_| "the test did not answer".to_owned())?
            }
        });
        consumer.concurrency(4)
    }

    /// The next entry.
    pub(super) async fn next(&self) -> Case {
        self.cases.lock().await.recv().await.unwrap()
    }

    /// The next entry, if everything that can happen without time or server has happened.
    pub(super) async fn next_at_once(&self) -> Option<Case> {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        self.cases.lock().await.try_recv().ok()
    }

    /// The next entry, done at once; its value.
    pub(super) async fn done(&self) -> String {
        let case = self.next().await;
        let value = case.entry.value.clone();
        case.answer(Ok(Handled::Done));
        value
    }
}

impl Case {
    /// The handler ends with this.
    pub(super) fn answer(self, answer: Result<Handled, String>) {
        // A handler that was dropped receives no outcome.
        let _ = self.answer.send(answer);
    }

    pub(super) fn done(self) {
        self.answer(Ok(Handled::Done));
    }

    pub(super) fn fail(self) {
        self.answer(Err("no reply from the bank".to_owned()));
    }

    /// Waits until its handler is dropped.
    pub(super) async fn dropped(mut self) -> Entry<String> {
        self.answer.closed().await;
        self.entry
    }

    /// Drops the entry, which its handler has handed over.
    pub(super) fn without_entry(self) -> Handler {
        Handler(self.answer)
    }
}

/// A handler that hangs without its entry.
pub(super) struct Handler(oneshot::Sender<Result<Handled, String>>);

impl Handler {
    /// Waits until it is dropped.
    pub(super) async fn dropped(mut self) {
        self.0.closed().await;
    }
}

/// Runs a consumer.
pub(super) fn open<T: Send + Sync + 'static, E: Display + Send + 'static>(consumer: Consumer<T, E>) -> Office {
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

    /// Waits until the consumer has ended by itself.
    pub(super) async fn ended(&mut self) {
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }

    /// How it ended.
    pub(super) async fn result(self) -> Result<(), StreamError> {
        self.task.await.unwrap()
    }

    /// Ends like a killed process: nothing is settled or released.
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}
