//! [`Spool`]: the public handle.

use super::effect::{PendingEffect, Spooled};
use super::error::SpoolError;
use super::options::{Fsync, SpoolOptions, WhenFull};
use super::segments::Segments;
use super::writer::{Answer, Message, Shared, Writer};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, Recurring};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// A bounded file for effects; cheap to clone. Opened by [`KeelBuilder::spool`](crate::KeelBuilder::spool), or with
/// [`open`](Self::open).
///
/// **Guarantee.** An acknowledged effect is returned by [`pending`](Self::pending), in this process and in the next ones
/// that open the folder, until it is marked as [`done`](Self::done); under [`Fsync::Always`] also after a power failure. This
/// is at-least-once: an effect that was done shortly before a crash may be returned again, so carrying it out must be
/// idempotent.
///
/// **Not guaranteed.** That it survives the loss of its disk, or that it is carried out while no process has the folder open. A
/// file that was damaged by more than an interrupted write is rejected with the position of the damage
/// ([`SpoolError::Corrupt`]); the spool never reads past it.
#[derive(Clone)]
pub struct Spool(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    options: SpoolOptions,
    shared: Arc<Shared>,
    messages: UnboundedSender<Message>,
    _syncs: Option<Background>,
}

/// Statistics of a spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolStats {
    /// Pending effects.
    pub pending: usize,
    /// Their size in bytes, at most `bytes_max`.
    pub bytes: u64,
    /// Size of all segments in bytes.
    pub file_bytes: u64,
    /// Number of syncs to the disk.
    pub syncs: u64,
    /// Bytes of an interrupted write that were truncated when the spool was opened.
    pub torn_bytes: u64,
}

impl Spool {
    /// Opens the spool in the folder `dir`, or creates it. One process at a time may have it open.
    ///
    /// # Errors
    /// [`SpoolError::InUse`]; [`SpoolError::Corrupt`] with file and offset; [`SpoolError::Io`]; [`SpoolError::Settings`].
    pub async fn open(dir: impl AsRef<Path>, options: SpoolOptions) -> Result<Self, SpoolError> {
        Self::open_with(dir.as_ref(), options, Clock::system()).await
    }

    pub(crate) async fn open_with(dir: &Path, options: SpoolOptions, clock: Clock) -> Result<Self, SpoolError> {
        options.check()?;
        let folder = dir.to_owned();
        let opening = tokio::task::spawn_blocking(move || Segments::open(&folder));
        let (segments, opened) = opening.await.map_err(|error| SpoolError::Broken { reason: error.to_string() })??;
        let shared = Arc::new(Shared::new(opened.live, clock.clone()));
        shared.metrics.torn.increment(opened.torn_bytes);
        shared.figures.lock().torn_bytes = opened.torn_bytes;
        let writer = Writer::new(segments, Arc::clone(&shared), options.clone());
        let (messages, inbox) = unbounded_channel();
        let thread = std::thread::Builder::new().name("evenkeel spool".to_owned());
        thread.spawn(move || writer.run(inbox)).map_err(|error| SpoolError::Broken {
            reason: format!("its writer thread could not be started: {error}"),
        })?;
        let syncs = match options.fsync {
            Fsync::Every(span) => Some(keep_syncing(&shared, &messages, span)),
            Fsync::Always | Fsync::Never => None,
        };
        Ok(Self(Arc::new(Inner { dir: dir.to_owned(), options, shared, messages, _syncs: syncs })))
    }

    /// Stores an effect, and returns its sequence once it is stored as durably as the [`Fsync`] policy demands.
    ///
    /// Dropping the future does not undo it.
    ///
    /// # Errors
    /// [`SpoolError::Full`] (after waiting for space, if the options say so), [`SpoolError::TooLarge`], [`SpoolError::LongTopic`],
    /// [`SpoolError::Io`] and [`SpoolError::Closed`]: it is not stored. [`SpoolError::Broken`]: the spool stores nothing any more, and whether this
    /// effect was stored is unknown.
    pub async fn append(&self, effect: PendingEffect) -> Result<u64, SpoolError> {
        let mut room = self.0.shared.room.subscribe();
        let WhenFull::Block(wait_max) = self.0.options.when_full else { return self.try_append(effect).await };
        let until = self.0.shared.clock.now() + wait_max;
        loop {
            room.mark_unchanged();
            let full = match self.try_append(effect.clone()).await {
                Err(full @ SpoolError::Full { .. }) => full,
                other => return other,
            };
            let left = until.since(self.0.shared.clock.now());
            if left.is_zero() || !matches!(self.0.shared.clock.timeout(left, room.changed()).await, Ok(Ok(()))) {
                return Err(full);
            }
        }
    }

    async fn try_append(&self, effect: PendingEffect) -> Result<u64, SpoolError> {
        let (reply, answer) = oneshot::channel();
        self.append_then(effect, Box::new(move |answered| _ = reply.send(answered)));
        answer.await.unwrap_or(Err(SpoolError::Closed))
    }

    /// Stores an effect without waiting. `answer` is called on the writer thread, and not at all if the spool is closed.
    pub(crate) fn append_then(&self, effect: PendingEffect, answer: Answer) {
        let _ = self.0.messages.send(Message::Append(effect, answer));
    }

    /// The pending effects of `topic`, at most `limit`: deletes first, then writes, each in the order of their arrival.
    #[must_use]
    pub fn pending(&self, topic: &str, limit: usize) -> Vec<Spooled> {
        self.0.shared.live.lock().pending(topic, limit)
    }

    /// Its folder. It may contain other files, unless their names end in `.spool`.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }

    /// The topics with pending effects, and how many each has.
    #[must_use]
    pub fn topics(&self) -> BTreeMap<Arc<str>, usize> {
        self.0.shared.live.lock().topics()
    }

    /// Marks these as done; they are not returned again. Never waits: if the process dies before the mark is written, they are
    /// returned once more.
    pub fn done(&self, sequences: &[u64]) {
        let _ = self.0.messages.send(Message::Done(sequences.to_vec()));
    }

    /// Waits until all earlier calls are written and synced to the disk.
    ///
    /// # Errors
    /// [`SpoolError::Io`], [`SpoolError::Broken`], [`SpoolError::Closed`].
    pub async fn sync(&self) -> Result<(), SpoolError> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.messages.send(Message::Sync(reply));
        answer.await.unwrap_or(Err(SpoolError::Closed))
    }

    /// Writes all earlier calls and releases the folder, for all clones.
    ///
    /// # Errors
    /// [`SpoolError::Closed`] if it was closed before.
    pub async fn close(&self) -> Result<(), SpoolError> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.messages.send(Message::Close(reply));
        answer.await.map_err(|_| SpoolError::Closed)
    }

    /// Statistics.
    #[must_use]
    pub fn stats(&self) -> SpoolStats {
        let figures = *self.0.shared.figures.lock();
        let live = self.0.shared.live.lock();
        SpoolStats {
            pending: live.count(),
            bytes: live.bytes(),
            file_bytes: figures.file_bytes,
            syncs: figures.syncs,
            torn_bytes: figures.torn_bytes,
        }
    }
}

/// Syncs the file to the disk a fixed time after a write.
fn keep_syncing(shared: &Arc<Shared>, messages: &UnboundedSender<Message>, span: Duration) -> Background {
    let (shared, messages) = (Arc::clone(shared), messages.downgrade());
    Background::spawn("spool sync", shared.clock.clone(), move || {
        let (shared, messages) = (Arc::clone(&shared), messages.clone());
        async move {
            let failing = Recurring::default();
            loop {
                shared.dirty.notified().await;
                shared.clock.sleep(span).await;
                let Some(messages) = messages.upgrade() else { return };
                let (reply, answer) = oneshot::channel();
                if messages.send(Message::Sync(reply)).is_err() {
                    return;
                }
                drop(messages);
                if let Ok(synced) = answer.await {
                    failing.log("sync", &synced, |error, times| {
                        tracing::error!(%error, times, "the spool could not be synced to the disk; it is retried after the next write");
                    });
                }
            }
        }
    })
}

// Not derived, because the other fields are of no use in a log.
impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("dir", &self.0.dir).finish_non_exhaustive()
    }
}
