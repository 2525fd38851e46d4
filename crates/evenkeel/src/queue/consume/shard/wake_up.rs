//! Wake-up listeners: a marker in the store notifies shard workers of new work. On Redis one blocking connection waits for the markers of
//! all queues of a process.
//!
//! Markers are hints and carry no work; a shard worker also polls once a second.

use crate::handling::blocking_reads::{BLOCK, BlockingReads};
use crate::queue::store::QueueStore;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::Background;
use evenkeel_link::{Link, LinkError};
use evenkeel_protocol::queue::steps::Shard;
use parking_lot::Mutex;
use redis::Value;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use tokio::sync::Notify;

/// The wake-up listener of one shard worker.
pub(crate) struct WakeUpListener {
    shard: Shard,
    store: QueueStore,
    wake_up: Notify,
    /// The worker has a free slot; it takes markers only then.
    has_room: AtomicBool,
    /// The blocking command in progress includes this shard.
    is_listening: AtomicBool,
    listeners: Arc<WakeUpListeners>,
}

/// The wake-up listeners of one process, and the task that waits for their markers.
#[derive(Default)]
pub(crate) struct WakeUpListeners {
    all: Mutex<Vec<Weak<WakeUpListener>>>,
    changed: Notify,
    task: Mutex<Option<Background>>,
}

impl WakeUpListeners {
    /// Registers a listener for a shard worker, until it is dropped.
    pub(crate) fn open(self: &Arc<Self>, store: &QueueStore, shard: &Shard) -> Arc<WakeUpListener> {
        let listener = Arc::new(WakeUpListener {
            shard: shard.clone(),
            store: store.clone(),
            wake_up: Notify::new(),
            has_room: AtomicBool::new(false),
            is_listening: AtomicBool::new(false),
            listeners: Arc::clone(self),
        });
        // In the embedded store every worker waits for its markers itself.
        if let Some(link) = store.link() {
            self.all.lock().push(Arc::downgrade(&listener));
            let mut task = self.task.lock();
            if task.is_none() {
                let (listeners, link) = (Arc::downgrade(self), link.clone());
                // Always the system clock: a real server does not follow the clock of a test.
                *task = Some(Background::spawn("queue listener", Clock::system(), move || {
                    listen(Weak::clone(&listeners), link.clone())
                }));
            }
        }
        listener
    }

    /// The listeners whose workers have a free slot; removes dropped ones.
    fn open_for_work(&self) -> Vec<Arc<WakeUpListener>> {
        let mut all = self.all.lock();
        all.retain(|listener| listener.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).filter(|listener| listener.has_room.load(SeqCst)).collect()
    }
}

impl WakeUpListener {
    /// Waits for a marker of the shard. The caller has a free slot.
    pub(crate) async fn marker(&self) {
        if self.store.link().is_none() {
            return self.store.marker(&self.shard).await;
        }
        let _has_room = HasRoom::new(self);
        if !self.is_listening.load(SeqCst) {
            self.listeners.changed.notify_one();
        }
        self.wake_up.notified().await;
    }

    /// Wakes the shard worker.
    pub(crate) fn wake(&self) {
        self.wake_up.notify_one();
    }

    fn wake_key(&self) -> String {
        format!("{}:wake", self.shard.tag())
    }
}

/// Marks the worker of a listener as having a free slot, until it is dropped.
struct HasRoom<'a>(&'a WakeUpListener);

impl<'a> HasRoom<'a> {
    fn new(listener: &'a WakeUpListener) -> Self {
        listener.has_room.store(true, SeqCst);
        Self(listener)
    }
}

impl Drop for HasRoom<'_> {
    fn drop(&mut self) {
        self.0.has_room.store(false, SeqCst);
    }
}

/// Pops markers for all listeners, until the keel of the process is dropped.
async fn listen(listeners: Weak<WakeUpListeners>, link: Link) {
    let clock = Clock::system();
    let mut reads = BlockingReads::new(link.clone(), "queues");
    while let Some(all) = listeners.upgrade() {
        let open = all.open_for_work();
        if open.is_empty() {
            tokio::select! {
                () = all.changed.notified() => {}
                () = clock.sleep(BLOCK) => {}
            }
            continue;
        }
        match pop(&mut reads, &all.changed, &open).await {
            Ok(Some(key)) => wake_popped(&link, &open, &key).await,
            Ok(None) => {}
            Err(_) => {
                // No marker arrives without the connection, so every worker polls now.
                open.iter().for_each(|listener| listener.wake());
                reads.pause(&clock).await;
            }
        }
    }
}

/// Waits for a marker of one of the shards; returns its key. Returns early when another worker begins to wait for a marker.
async fn pop(
    reads: &mut BlockingReads,
    changed: &Notify,
    open: &[Arc<WakeUpListener>],
) -> Result<Option<String>, LinkError> {
    let mut cmd = redis::cmd("BZPOPMIN");
    for listener in open {
        cmd.arg(listener.wake_key());
        listener.is_listening.store(true, SeqCst);
    }
    cmd.arg(BLOCK.as_secs());
    let reply = reads.send(&cmd, changed).await;
    open.iter().for_each(|listener| listener.is_listening.store(false, SeqCst));
    match reply? {
        Value::Nil => Ok(None),
        Value::Array(parts) => match parts.into_iter().next() {
            Some(Value::BulkString(key)) => Ok(Some(String::from_utf8_lossy(&key).into_owned())),
            other => Err(LinkError::Unexpected(format!("BZPOPMIN: {other:?}"))),
        },
        other => Err(LinkError::Unexpected(format!("BZPOPMIN: {other:?}"))),
    }
}

/// Wakes the worker whose marker was popped. If it has no free slot any more, the marker is put back for other processes.
async fn wake_popped(link: &Link, open: &[Arc<WakeUpListener>], key: &str) {
    let mut of_key = open.iter().filter(|listener| listener.wake_key() == key);
    match of_key.find(|listener| listener.has_room.load(SeqCst)) {
        Some(listener) => listener.wake(),
        None => {
            let _ = link.command(key.as_bytes(), redis::cmd("ZADD").arg(key).arg("NX").arg(0).arg(1)).await;
        }
    }
}
