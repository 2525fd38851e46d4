//! Wake-up listeners: a marker in the store notifies shard workers of new work. On Redis one blocking connection waits for the markers of
//! all queues of a process.
//!
//! Markers are hints and carry no work; a shard worker also polls once a second.

use crate::queue::store::QueueStore;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Backoff};
use evenkeel_link::{Blocking, Link, LinkError};
use evenkeel_protocol::queue::steps::Shard;
use redis::Value;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// The timeout of the blocking command. After each, the set of shards is read anew.
const BLOCK: Duration = Duration::from_secs(1);
const RECONNECT: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(1) };

/// The wake-up listener of one shard worker.
pub(crate) struct Ear {
    shard: Shard,
    store: QueueStore,
    heard: Notify,
    /// The worker has a free slot; it takes markers only then.
    has_room: AtomicBool,
    /// The blocking command in progress includes this shard.
    is_listening: AtomicBool,
    ears: Arc<Ears>,
}

/// The wake-up listeners of one process, and the task that waits for their markers.
#[derive(Default)]
pub(crate) struct Ears {
    all: Mutex<Vec<Weak<Ear>>>,
    changed: Notify,
    listener: Mutex<Option<Background>>,
}

impl Ears {
    /// Registers a listener for a shard worker, until it is dropped.
    pub(crate) fn open(self: &Arc<Self>, store: &QueueStore, shard: &Shard) -> Arc<Ear> {
        let ear = Arc::new(Ear {
            shard: shard.clone(),
            store: store.clone(),
            heard: Notify::new(),
            has_room: AtomicBool::new(false),
            is_listening: AtomicBool::new(false),
            ears: Arc::clone(self),
        });
        // In the embedded store every worker waits for its markers itself.
        if let Some(link) = store.link() {
            self.all().push(Arc::downgrade(&ear));
            let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
            if listener.is_none() {
                let (ears, link) = (Arc::downgrade(self), link.clone());
                // Always the system clock: a real server does not follow the clock of a test.
                *listener = Some(Background::spawn("queue listener", Clock::system(), move || {
                    listen(Weak::clone(&ears), link.clone())
                }));
            }
        }
        ear
    }

    fn all(&self) -> MutexGuard<'_, Vec<Weak<Ear>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The listeners whose workers have a free slot; removes dropped ones.
    fn open_for_work(&self) -> Vec<Arc<Ear>> {
        let mut all = self.all();
        all.retain(|ear| ear.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).filter(|ear| ear.has_room.load(SeqCst)).collect()
    }
}

impl Ear {
    /// Waits for a marker of the shard. The caller has a free slot.
    pub(crate) async fn marker(&self) {
        if self.store.link().is_none() {
            return self.store.marker(&self.shard).await;
        }
        let _room = Room::new(self);
        if !self.is_listening.load(SeqCst) {
            self.ears.changed.notify_one();
        }
        self.heard.notified().await;
    }

    /// Wakes the shard worker.
    pub(crate) fn wake(&self) {
        self.heard.notify_one();
    }

    fn wake_key(&self) -> String {
        format!("{}:wake", self.shard.tag())
    }
}

/// Marks the worker of a listener as having a free slot, until it is dropped.
struct Room<'a>(&'a Ear);

impl<'a> Room<'a> {
    fn new(ear: &'a Ear) -> Self {
        ear.has_room.store(true, SeqCst);
        Self(ear)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.0.has_room.store(false, SeqCst);
    }
}

/// Pops markers for all listeners, until the keel of the process is dropped.
async fn listen(ears: Weak<Ears>, link: Link) {
    let clock = Clock::system();
    let mut connection: Option<(Blocking, i64)> = None;
    let mut failures = 0;
    while let Some(all) = ears.upgrade() {
        let open = all.open_for_work();
        if open.is_empty() {
            tokio::select! {
                () = all.changed.notified() => {}
                () = clock.sleep(BLOCK) => {}
            }
            continue;
        }
        let answer = match connect(&link, &mut connection).await {
            Ok((blocking, client)) => pop(&link, &all, blocking, *client, &open).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(popped) => {
                failures = 0;
                if let Some(key) = popped {
                    heard(&link, &open, &key).await;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the blocking connection of the queues was lost; opening another one");
                connection = None;
                // No marker arrives without the connection, so every worker polls now.
                open.iter().for_each(|ear| ear.wake());
                clock.sleep(RECONNECT.delay(failures)).await;
                failures += 1;
            }
        }
    }
}

async fn connect<'a>(
    link: &Link,
    connection: &'a mut Option<(Blocking, i64)>,
) -> Result<&'a mut (Blocking, i64), LinkError> {
    if let Some((blocking, _)) = connection
        && !blocking.is_open()
    {
        *connection = None;
    }
    match connection {
        Some(open) => Ok(open),
        None => {
            let mut blocking = link.blocking().await?;
            let client = match blocking.command(redis::cmd("CLIENT").arg("ID"), Duration::ZERO).await? {
                Value::Int(client) => client,
                other => return Err(LinkError::Unexpected(format!("CLIENT ID: {other:?}"))),
            };
            Ok(connection.insert((blocking, client)))
        }
    }
}

/// Waits for a marker of one of the shards; returns its key. Returns early when another worker begins to wait for a marker.
async fn pop(
    link: &Link,
    ears: &Ears,
    connection: &mut Blocking,
    client: i64,
    open: &[Arc<Ear>],
) -> Result<Option<String>, LinkError> {
    let mut cmd = redis::cmd("BZPOPMIN");
    for ear in open {
        cmd.arg(ear.wake_key());
        ear.is_listening.store(true, SeqCst);
    }
    cmd.arg(BLOCK.as_secs());
    let mut popping = std::pin::pin!(connection.command(&cmd, BLOCK));
    let answer = loop {
        tokio::select! {
            biased;
            answer = &mut popping => break answer,
            () = ears.changed.notified() => {
                // Ends the blocking command like its timeout. An error costs at most the rest of the second.
                let _ = link.command(b"", redis::cmd("CLIENT").arg("UNBLOCK").arg(client)).await;
            }
        }
    };
    open.iter().for_each(|ear| ear.is_listening.store(false, SeqCst));
    match answer? {
        Value::Nil => Ok(None),
        Value::Array(parts) => match parts.into_iter().next() {
            Some(Value::BulkString(key)) => Ok(Some(String::from_utf8_lossy(&key).into_owned())),
            other => Err(LinkError::Unexpected(format!("BZPOPMIN: {other:?}"))),
        },
        other => Err(LinkError::Unexpected(format!("BZPOPMIN: {other:?}"))),
    }
}

/// Wakes the worker whose marker was popped. If it has no free slot any more, the marker is put back for other processes.
async fn heard(link: &Link, open: &[Arc<Ear>], key: &str) {
    let mut listeners = open.iter().filter(|ear| ear.wake_key() == key);
    match listeners.find(|ear| ear.has_room.load(SeqCst)) {
        Some(ear) => ear.wake(),
        None => {
            let _ = link.command(key.as_bytes(), redis::cmd("ZADD").arg(key).arg("NX").arg(0).arg(1)).await;
        }
    }
}
