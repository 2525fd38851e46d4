//! The worker: applies pending writes to the database in the order in which they were accepted.

use super::quarantine::{self, Unreadable};
use super::{WriteBehind, record};
use crate::store::{Applied, SpooledWrite, StoreError};
use evenkeel::spool::Spooled;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;
use tracing::{error, warn};

/// Writes of one transaction.
const BATCH_MAX: usize = 200;

/// Exponential backoff between attempts.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A write whose values the database rejects this many times is recorded as a conflict. An unreachable database does not count.
const REFUSALS_MAX: u32 = 5;

/// The state of the loop.
struct LoopState {
    /// The sequence of the last applied write. The spool returns it again until its removal is synced.
    last: u64,
    /// Writes per transaction. 1 after a failure, to isolate a rejected write.
    batch: usize,
    pause: Duration,
    refusals: u32,
}

impl WriteBehind {
    /// Applies pending writes until `shutdown`, then drains the rest unless the database fails. The next run applies what is left.
    pub(in crate::service) async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, mut stopped) = watch::channel(false);
        let until_stop = async {
            shutdown.await;
            stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = until_stop => {}
            () = self.apply_until(&mut stopped) => {}
        }
    }

    async fn apply_until(&self, stopped: &mut watch::Receiver<bool>) {
        let mut state = LoopState { last: 0, batch: BATCH_MAX, pause: PAUSE_MIN, refusals: 0 };
        loop {
            let appended = self.0.appended.notified();
            let mut pending = self.0.spool.pending(record::TOPIC, state.batch);
            let has_pending = !pending.is_empty();
            pending.retain(|spooled| spooled.sequence > state.last);
            if has_pending && pending.is_empty() && self.0.spool.sync().await.is_ok() {
                continue;
            }
            if pending.is_empty() {
                if *stopped.borrow() {
                    return;
                }
                tokio::select! {
                    () = appended => {}
                    _ = stopped.changed() => {}
                }
                continue;
            }
            let Err(error) = self.apply(&pending).await else {
                let last = pending.last().map_or(state.last, |spooled| spooled.sequence);
                state = LoopState { last, batch: BATCH_MAX, pause: PAUSE_MIN, refusals: 0 };
                continue;
            };
            warn!(%error, writes = self.waiting(), "cannot apply pending writes; retrying");
            if *stopped.borrow() {
                return;
            }
            if state.batch == 1 && error.rejects_values() {
                state.refusals += 1;
                if state.refusals >= REFUSALS_MAX {
                    match self.give_up(&pending, &error).await {
                        Ok(()) => {
                            state.last = pending.last().map_or(state.last, |spooled| spooled.sequence);
                            state.refusals = 0;
                            continue;
                        }
                        Err(error) => {
                            warn!(%error, "cannot record a write that the database rejects as a conflict; retrying");
                        }
                    }
                }
            }
            state.batch = 1;
            tokio::select! {
                () = self.0.clock.sleep(state.pause) => {}
                _ = stopped.changed() => {}
            }
            state.pause = (state.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Applies writes in one transaction, then removes them from the spool.
    async fn apply(&self, spooled: &[Spooled]) -> Result<(), StoreError> {
        let writes = self.decode(spooled).await?;
        let applied = if writes.is_empty() { Vec::new() } else { self.0.writer.apply(&writes).await? };
        for (pending, applied) in writes.iter().zip(&applied) {
            self.count(pending, applied);
        }
        self.remove(spooled);
        Ok(())
    }

    async fn give_up(&self, spooled: &[Spooled], error: &StoreError) -> Result<(), StoreError> {
        for pending in self.decode(spooled).await? {
            let applied = self.0.writer.give_up(&pending, &error.message()).await?;
            self.count(&pending, &applied);
        }
        self.remove(spooled);
        Ok(())
    }

    /// Decodes records. Undecodable records are moved to the quarantine file and logged.
    async fn decode(&self, spooled: &[Spooled]) -> Result<Vec<SpooledWrite>, StoreError> {
        let (mut writes, mut unreadable) = (Vec::new(), Vec::<Unreadable>::new());
        for spooled in spooled {
            match record::decode(spooled) {
                Ok(pending) => writes.push(pending),
                Err(why) => unreadable.push((spooled.clone(), why)),
            }
        }
        let Some((_, why)) = unreadable.first() else { return Ok(writes) };
        let (why, count, folder) = (why.clone(), unreadable.len(), self.0.spool.dir().to_owned());
        let kept = tokio::task::spawn_blocking(move || quarantine::append(&folder, &unreadable)).await;
        let file = kept.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(StoreError::Quarantine)?;
        let file = file.display();
        error!(writes = count, why, %file, "moved undecodable writes from the spool to a quarantine file; a newer version may have written them");
        Ok(writes)
    }

    /// Removes writes from the spool and the overlay. Their invalidations were carried out or are pending in this process, so it can
    /// read its caches again.
    fn remove(&self, spooled: &[Spooled]) {
        let sequences: Vec<u64> = spooled.iter().map(|spooled| spooled.sequence).collect();
        self.0.spool.done(&sequences);
        if let Some(last) = sequences.last() {
            self.0.overlay.remove_up_to(*last);
        }
    }

    fn count(&self, pending: &SpooledWrite, applied: &Applied) {
        match applied {
            Applied::Written => self.0.outcomes.written.increment(1),
            Applied::Earlier => self.0.outcomes.earlier.increment(1),
            Applied::Conflict(conflict) => {
                let code = &pending.write.code;
                warn!(%code, %conflict, "an accepted write could not be applied; see /api/conflicts");
                self.0.outcomes.conflict.increment(1);
            }
        }
    }
}
