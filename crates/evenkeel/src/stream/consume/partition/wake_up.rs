//! Wake-up listeners: on Redis one blocking connection of a process waits for entries in all of its partitions.
//!
//! It is a plain `XREAD`, which takes nothing: a stopped process that was blocked in `XREADGROUP` would take the next entry when it wakes up.
//! Wake-ups are hints; a worker also polls once a second. After an error all workers that wait read: the error may be that of one log, where
//! another program has put a value of another type, and says nothing about the others.

use crate::handling::blocking_reads::{BLOCK, BlockingReads};
use crate::stream::store::StreamStore;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, guard};
use evenkeel_link::{Link, LinkError};
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::Partition;
use parking_lot::Mutex;
use redis::Value;
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// The wake-up listener of one partition.
pub(crate) struct Listener {
    partition: Partition,
    store: StreamStore,
    wake_up: Notify,
    /// The entry after which the worker waits for more, while it waits.
    after: Mutex<Option<EntryId>>,
    listeners: Arc<Listeners>,
}

/// The wake-up listeners of one process, and the task that waits for entries.
#[derive(Default)]
pub(crate) struct Listeners {
    all: Mutex<Vec<Weak<Listener>>>,
    changed: Notify,
    task: Mutex<Option<Background>>,
}

impl Listeners {
    /// Registers a listener, until it is dropped.
    pub(crate) fn open(self: &Arc<Self>, store: &StreamStore, partition: &Partition) -> Arc<Listener> {
        let listener = Arc::new(Listener {
            partition: partition.clone(),
            store: store.clone(),
            wake_up: Notify::new(),
            after: Mutex::new(None),
            listeners: Arc::clone(self),
        });
        // In the embedded store every worker waits itself.
        if let Some(link) = store.link() {
            self.all.lock().push(Arc::downgrade(&listener));
            let mut task = self.task.lock();
            if task.is_none() {
                let (listeners, link) = (Arc::downgrade(self), link.clone());
                // Always the system clock: a real server does not follow the clock of a test.
                *task = Some(Background::spawn("stream listener", Clock::system(), move || {
                    listen(Weak::clone(&listeners), link.clone())
                }));
            }
        }
        listener
    }

    /// The listeners whose workers wait, with the entry after which they do; removes dropped ones.
    fn waiting(&self) -> Vec<(Arc<Listener>, EntryId)> {
        let mut all = self.all.lock();
        all.retain(|listener| listener.strong_count() > 0);
        let waiting = all.iter().filter_map(Weak::upgrade);
        waiting.filter_map(|listener| listener.after.lock().map(|after| (Arc::clone(&listener), after))).collect()
    }
}

impl Listener {
    /// Waits until the log has an entry after this one. The caller has room for it.
    pub(crate) async fn grown(&self, after: EntryId) {
        if self.store.link().is_none() {
            return self.store.grown(&self.partition, after).await;
        }
        let _waits = Waits::new(self, after);
        self.listeners.changed.notify_one();
        self.wake_up.notified().await;
    }

    fn wake(&self) {
        *self.after.lock() = None;
        self.wake_up.notify_one();
    }

    fn log(&self) -> String {
        format!("{}:log", self.partition.tag())
    }
}

/// Marks the worker of a listener as waiting, until it is dropped.
struct Waits<'a>(&'a Listener);

impl<'a> Waits<'a> {
    fn new(listener: &'a Listener, after: EntryId) -> Self {
        *listener.after.lock() = Some(after);
        Self(listener)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        *self.0.after.lock() = None;
    }
}

/// Waits for entries for all listeners, until the keel of the process is dropped.
async fn listen(listeners: Weak<Listeners>, link: Link) {
    let clock = Clock::system();
    let mut reads = BlockingReads::new(link, "streams");
    while let Some(all) = listeners.upgrade() {
        let waiting = all.waiting();
        if waiting.is_empty() {
            tokio::select! {
                () = all.changed.notified() => {}
                () = clock.sleep(BLOCK) => {}
            }
            continue;
        }
        match grown(&mut reads, &all.changed, &waiting).await {
            Ok(grown) => {
                let woken = waiting.iter().filter(|(listener, _)| grown.contains(&listener.log()));
                woken.for_each(|(listener, _)| listener.wake());
            }
            Err(_) => {
                if guard("stream_wake_on_error") {
                    waiting.iter().for_each(|(listener, _)| listener.wake());
                }
                reads.pause(&clock).await;
            }
        }
    }
}

/// Waits for an entry in one of the logs; returns the keys of those that have one. Returns early when another worker begins to wait.
async fn grown(
    reads: &mut BlockingReads,
    changed: &Notify,
    waiting: &[(Arc<Listener>, EntryId)],
) -> Result<Vec<String>, LinkError> {
    let mut cmd = redis::cmd("XREAD");
    cmd.arg("COUNT").arg(1).arg("BLOCK").arg(BLOCK.as_millis().to_string()).arg("STREAMS");
    for (listener, _) in waiting {
        cmd.arg(listener.log());
    }
    for (_, after) in waiting {
        cmd.arg(if guard("stream_wait_after_read") { after.to_string() } else { "$".to_owned() });
    }
    match reads.send(&cmd, changed).await? {
        Value::Nil => Ok(Vec::new()),
        Value::Array(streams) => Ok(streams.into_iter().filter_map(name_of).collect()),
        Value::Map(streams) => Ok(streams.into_iter().filter_map(|(name, _)| text(name)).collect()),
        other => Err(LinkError::Unexpected(format!("XREAD: {other:?}"))),
    }
}

fn name_of(stream: Value) -> Option<String> {
    match stream {
        Value::Array(parts) => parts.into_iter().next().and_then(text),
        _ => None,
    }
}

fn text(name: Value) -> Option<String> {
    match name {
        Value::BulkString(name) => String::from_utf8(name).ok(),
        Value::SimpleString(name) => Some(name),
        _ => None,
    }
}
