//! A sink that misbehaves at chosen messages until it is mended, and records what it takes.

use evenkeel::sql::Message;
use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError};
use evenkeel::testing::TestClock;
use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

/// What the sink does when it gets a message, which has this in its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Accepts,
    Panics,
    PanicsAtOnce,
    Hangs,
    Blocks,
    SaysNothing,
    SaysTooMuch,
    Retry,
    Poison,
    /// Blames an earlier message, although it accepted all of them.
    Held,
    /// Says of one message that the whole sink is unavailable, or the topic full.
    Away,
    Busy,
}

/// All but `Accepts`.
pub(super) const BAD: [How; 11] = {
    use How::{Away, Blocks, Busy, Hangs, Held, Panics, PanicsAtOnce, Poison, Retry, SaysNothing, SaysTooMuch};
    [Panics, PanicsAtOnce, Hangs, Blocks, SaysNothing, SaysTooMuch, Retry, Poison, Held, Away, Busy]
};

/// What the sink does with all messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Whatever each message says.
    ByMessage,
    Away,
    Busy,
}

/// A message that a sink has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) number: u64,
    pub(super) topic: String,
    pub(super) key: Option<String>,
    pub(super) bytes: usize,
}

/// Clones are the same sink.
#[derive(Clone)]
pub(super) struct HostileSink(Arc<Inner>);

struct Inner {
    mode: Mode,
    clock: TestClock,
    is_mended: AtomicBool,
    taken: Mutex<Vec<Taken>>,
    ids: Mutex<HashSet<String>>,
}

/// A message with this number, at which its sink behaves like this.
pub(super) fn message(topic: &str, number: u64, how: How, bytes: usize) -> Message {
    let message = Message::new(topic, vec![b'x'; bytes]);
    message.header("number", number.to_string()).header("how", format!("{how:?}"))
}

impl HostileSink {
    pub(super) fn new(mode: Mode, clock: &TestClock) -> Self {
        let (taken, ids, is_mended) = (Mutex::default(), Mutex::default(), AtomicBool::new(false));
        Self(Arc::new(Inner { mode, clock: clock.clone(), is_mended, taken, ids }))
    }

    pub(super) fn mode(&self) -> Mode {
        self.0.mode
    }

    /// Takes every message from now on.
    pub(super) fn mend(&self) {
        self.0.is_mended.store(true, SeqCst);
    }

    /// Each message once, in the order in which they were taken first.
    pub(super) fn taken(&self) -> Vec<Taken> {
        self.0.taken.lock().unwrap().clone()
    }

    fn how(&self, message: &Envelope) -> How {
        if self.0.mode != Mode::ByMessage || self.is_mended() {
            return How::Accepts;
        }
        let how = header(message, "how");
        BAD.into_iter().find(|bad| format!("{bad:?}") == how).unwrap_or(How::Accepts)
    }

    fn is_mended(&self) -> bool {
        self.0.is_mended.load(SeqCst)
    }

    fn take(&self, message: &Envelope) -> Confirmed {
        if !self.0.ids.lock().unwrap().insert(message.id.clone()) {
            return Confirmed::Duplicate;
        }
        let (number, topic) = (header(message, "number").parse().unwrap(), message.topic.clone());
        let key = message.order.as_ref().map(|order| order.key.clone());
        self.0.taken.lock().unwrap().push(Taken { number, topic, key, bytes: message.payload.len() });
        Confirmed::Accepted
    }

    async fn behave(&self, message: &Envelope, how: How) -> Result<Confirmed, SinkError> {
        // Too long for a column, and with a byte that PostgreSQL does not store.
        let words = if message.payload.len().is_multiple_of(2) { "never".to_owned() } else { "\0ü".repeat(100_000) };
        match how {
            How::Accepts => Ok(self.take(message)),
            How::Panics | How::PanicsAtOnce => panic!("on purpose"),
            How::Hangs => self.hang().await,
            How::Blocks => {
                let (_open, never) = std::sync::mpsc::channel::<()>();
                assert!(never.recv_timeout(Duration::from_millis(10)).is_err());
                Err(SinkError::Retry("late".to_owned()))
            }
            How::Poison => Err(SinkError::Poison(words)),
            How::Held => Err(SinkError::Held),
            How::Away => Err(SinkError::Unavailable(words)),
            How::Busy => Err(SinkError::Busy(words)),
            How::Retry | How::SaysNothing | How::SaysTooMuch => Err(SinkError::Retry(words)),
        }
    }

    /// Time passes for as long as the caller waits.
    async fn hang(&self) -> Result<Confirmed, SinkError> {
        let clock = self.0.clock.clone();
        let _passes = Aborts(tokio::spawn(async move {
            loop {
                clock.advance(Duration::from_millis(100));
                // Real time, so that the tasks that it has woken run.
                let _ = tokio::time::timeout(Duration::from_millis(2), pending::<()>()).await;
            }
        }));
        pending().await
    }
}

/// Ends the task with the future that waits for it.
struct Aborts(JoinHandle<()>);

impl Drop for Aborts {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn header(message: &Envelope, name: &str) -> String {
    message.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

impl Sink for HostileSink {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        self.behave(message, self.how(message)).await
    }

    fn publish_all(&self, messages: &[Envelope]) -> impl Future<Output = Vec<Result<Confirmed, SinkError>>> + Send {
        let hows: Vec<How> = messages.iter().map(|message| self.how(message)).collect();
        assert!(!hows.contains(&How::PanicsAtOnce), "on purpose");
        async move {
            match self.0.mode {
                _ if self.is_mended() => {}
                Mode::ByMessage => {}
                Mode::Away => return vec![Err(SinkError::Unavailable("gone fishing".to_owned())); messages.len()],
                Mode::Busy => return vec![Err(SinkError::Busy("full".to_owned())); messages.len()],
            }
            let (mut answers, mut failed) = (Vec::new(), HashSet::new());
            for (message, how) in messages.iter().zip(&hows) {
                let key = message.order.as_ref().map(|order| (&message.topic, &order.key));
                if key.is_some_and(|key| failed.contains(&key)) {
                    answers.push(Err(SinkError::Held));
                    continue;
                }
                if *how == How::SaysNothing {
                    return answers;
                }
                let answer = self.behave(message, *how).await;
                if answer.is_err() {
                    failed.extend(key);
                }
                answers.push(answer);
            }
            if hows.contains(&How::SaysTooMuch) {
                answers.extend(vec![Ok(Confirmed::Accepted); 300]);
            }
            answers
        }
    }
}
