//! Subscriptions to channels: they persist across connections and report when messages may have been lost.
//!
//! Channels are sharded (`SSUBSCRIBE`), so that a cluster delivers them from one node. They use a separate connection: the
//! server closes the connection of a subscriber that reads too slowly, which must not interrupt commands.

use crate::connection::lane::Lane;
use crate::epoch::open;
use crate::epoch::shared::Shared;
use crate::error::LinkError;
use bytes::Bytes;
use parking_lot::Mutex;
use redis::{Pipeline, PushInfo, PushKind, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// The capacity of a subscriber's queue; messages above it are dropped and the subscriber receives a reset.
const BACKLOG_MAX: usize = 1024;

/// What a subscriber receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// A published message.
    Message(Bytes),
    /// Messages may have been lost: the connection was replaced, or the subscriber was too slow. The subscriber must check
    /// the state that the messages announce.
    Reset,
}

/// The messages of one channel. They are hints, which may be lost: poll with a timer as well.
#[derive(Debug)]
pub struct Subscription {
    messages: Receiver<Bytes>,
    resets: Arc<Resets>,
    seen: u64,
    needs_cleanup: Arc<AtomicBool>,
}

/// Counts and signals resets separately from the messages, so that a full queue cannot delay one.
#[derive(Debug, Default)]
struct Resets {
    count: AtomicU64,
    wake: tokio::sync::Notify,
}

/// The channels of one link and their subscribers.
#[derive(Default)]
pub(crate) struct Subscriptions {
    channels: Mutex<HashMap<Bytes, Vec<Subscriber>>>,
    /// Held during requests to the server, so that a subscription and the end of an earlier one are not reordered.
    requests: tokio::sync::Mutex<()>,
    /// Set when a subscriber may have been dropped.
    needs_cleanup: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Subscriber {
    messages: Sender<Bytes>,
    resets: Arc<Resets>,
}

impl Subscription {
    /// The next message or reset; `None` once the link is shut down.
    pub async fn next(&mut self) -> Option<Notification> {
        let resets = Arc::clone(&self.resets);
        loop {
            let count = resets.count.load(SeqCst);
            if count != self.seen {
                self.seen = count;
                return Some(Notification::Reset);
            }
            tokio::select! {
                biased;
                () = resets.wake.notified() => {}
                message = self.messages.recv() => return message.map(Notification::Message),
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.messages.close();
        self.needs_cleanup.store(true, SeqCst);
    }
}

/// Subscribes and waits until the server has confirmed it.
pub(crate) async fn subscribe(shared: &Shared, channel: &[u8]) -> Result<Subscription, LinkError> {
    let (sender, messages) = mpsc::channel(BACKLOG_MAX);
    let resets = Arc::new(Resets::default());
    let needs_cleanup = Arc::clone(&shared.subscriptions.needs_cleanup);
    let subscription = Subscription { messages, resets: Arc::clone(&resets), seen: 0, needs_cleanup };
    let _requests = shared.subscriptions.requests.lock().await;
    // Registered before the epoch is looked up, so that either this call or the opening of a new epoch subscribes.
    shared.subscriptions.add(channel, Subscriber { messages: sender, resets });
    let epoch = shared.epoch()?;
    let lane = open::listening(shared, &epoch).await.map_err(|error| error.into_link_error(shared))?;
    lane.call(redis::cmd("SSUBSCRIBE").arg(channel), None).await?;
    Ok(subscription)
}

/// Subscribes to all channels on the connection of a new epoch.
pub(crate) async fn renew(shared: &Shared, lane: &Lane) -> Result<(), LinkError> {
    let _requests = shared.subscriptions.requests.lock().await;
    let mut pipeline = Pipeline::new();
    for channel in shared.subscriptions.occupied() {
        pipeline.cmd("SSUBSCRIBE").arg(&channel[..]);
    }
    if pipeline.is_empty() {
        return Ok(());
    }
    for answer in lane.call_many(&pipeline, None).await? {
        if let Value::ServerError(error) = answer {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Unsubscribes from channels without a subscriber.
pub(crate) async fn tidy(shared: &Shared, lane: &Lane) -> Result<(), LinkError> {
    if !shared.subscriptions.needs_cleanup.swap(false, SeqCst) {
        return Ok(());
    }
    let _requests = shared.subscriptions.requests.lock().await;
    for channel in shared.subscriptions.remove_unused() {
        lane.call(redis::cmd("SUNSUBSCRIBE").arg(&channel[..]), None).await?;
    }
    Ok(())
}

impl Subscriptions {
    /// Whether there is no channel to subscribe to.
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.lock().is_empty()
    }

    /// Passes a message to its subscribers. Called by the task that reads the socket.
    pub(crate) fn received(&self, push: &PushInfo) {
        if push.kind != PushKind::SMessage {
            return;
        }
        let [Value::BulkString(channel), Value::BulkString(message)] = &push.data[..] else { return };
        let message = Bytes::copy_from_slice(message);
        let channels = self.channels.lock();
        for subscriber in channels.get(&channel[..]).into_iter().flatten() {
            match subscriber.messages.try_send(message.clone()) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(_)) => subscriber.reset(),
                Err(mpsc::error::TrySendError::Closed(_)) => self.needs_cleanup.store(true, SeqCst),
            }
        }
    }

    /// Notifies all subscribers that messages may have been lost.
    pub(crate) fn reset(&self) {
        self.channels.lock().values().flatten().for_each(Subscriber::reset);
        self.needs_cleanup.store(true, SeqCst);
    }

    /// Ends all subscriptions because the link is closed.
    pub(crate) fn close(&self) {
        self.channels.lock().clear();
    }

    fn add(&self, channel: &[u8], subscriber: Subscriber) {
        let mut channels = self.channels.lock();
        let subscribers = channels.entry(Bytes::copy_from_slice(channel)).or_default();
        subscribers.retain(Subscriber::listens);
        subscribers.push(subscriber);
    }

    fn occupied(&self) -> Vec<Bytes> {
        let mut channels = self.channels.lock();
        channels.retain(|_, subscribers| subscribers.iter().any(Subscriber::listens));
        channels.keys().cloned().collect()
    }

    fn remove_unused(&self) -> Vec<Bytes> {
        let mut unused = Vec::new();
        self.channels.lock().retain(|channel, subscribers| {
            subscribers.retain(Subscriber::listens);
            if subscribers.is_empty() {
                unused.push(channel.clone());
            }
            !subscribers.is_empty()
        });
        unused
    }
}

impl Subscriber {
    fn listens(&self) -> bool {
        !self.messages.is_closed()
    }

    fn reset(&self) {
        self.resets.count.fetch_add(1, SeqCst);
        self.resets.wake.notify_one();
    }
}
