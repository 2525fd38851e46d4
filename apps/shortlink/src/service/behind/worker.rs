//! The worker: brings the writes that wait to the database, in the order they were accepted.

use super::aside::{self, Unreadable};
use super::{Behind, record};
use crate::store::{Settled, StoreError, Waiting};
use evenkeel::spool::Spooled;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;
use tracing::{error, warn};

/// Writes of one transaction.
const BATCH_MAX: usize = 200;

/// Between two attempts: doubles from the first to the second.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// After so many refusals of one write for what it says, it is given up. (Never because the database is away.)
const REFUSALS_MAX: u32 = 5;

/// What is to be done next.
struct Turn {
    /// The last write that was settled. The spool hands it out until it has noted that.
    last: u64,
    /// How many writes are taken at once. One at a time after a failure, so that one that is refused is found.
    batch: usize,
    pause: Duration,
    refusals: u32,
}

impl Behind {
    /// Settles what waits until `shutdown`; then what still waits, as long as the database takes it. What is left is settled by the
    /// next run.
    pub(in crate::service) async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, mut stopped) = watch::channel(false);
        let until_stop = async {
            shutdown.await;
            stop.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = until_stop => {}
            () = self.keep_settling(&mut stopped) => {}
        }
    }

    async fn keep_settling(&self, stopped: &mut watch::Receiver<bool>) {
        let mut turn = Turn { last: 0, batch: BATCH_MAX, pause: PAUSE_MIN, refusals: 0 };
        loop {
            let noted = self.0.noted.notified();
            let mut waiting = self.0.spool.pending(record::TOPIC, turn.batch);
            let is_behind = !waiting.is_empty();
            waiting.retain(|spooled| spooled.sequence > turn.last);
            if is_behind && waiting.is_empty() && self.0.spool.sync().await.is_ok() {
                continue;
            }
            if waiting.is_empty() {
                if *stopped.borrow() {
                    return;
                }
                tokio::select! {
                    () = noted => {}
                    _ = stopped.changed() => {}
                }
                continue;
            }
            let Err(error) = self.settle(&waiting).await else {
                let last = waiting.last().map_or(turn.last, |spooled| spooled.sequence);
                turn = Turn { last, batch: BATCH_MAX, pause: PAUSE_MIN, refusals: 0 };
                continue;
            };
            warn!(%error, writes = self.waiting(), "writes wait for the database");
            if *stopped.borrow() {
                return;
            }
            if turn.batch == 1 && error.is_about_the_row() {
                turn.refusals += 1;
                if turn.refusals >= REFUSALS_MAX && self.give_up(&waiting, &error).await.is_ok() {
                    turn.last = waiting.last().map_or(turn.last, |spooled| spooled.sequence);
                    turn.refusals = 0;
                    continue;
                }
            }
            turn.batch = 1;
            tokio::select! {
                () = self.0.clock.sleep(turn.pause) => {}
                _ = stopped.changed() => {}
            }
            turn.pause = (turn.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Settles these writes in one transaction, then strikes them off.
    async fn settle(&self, spooled: &[Spooled]) -> Result<(), StoreError> {
        let writes = self.readable(spooled).await?;
        let settled = if writes.is_empty() { Vec::new() } else { self.0.writer.settle(&writes).await? };
        for (waiting, settled) in writes.iter().zip(&settled) {
            self.count(waiting, settled);
        }
        self.strike_off(spooled);
        Ok(())
    }

    async fn give_up(&self, spooled: &[Spooled], error: &StoreError) -> Result<(), StoreError> {
        for waiting in self.readable(spooled).await? {
            let settled = self.0.writer.give_up(&waiting, &error.to_string()).await?;
            self.count(&waiting, &settled);
        }
        self.strike_off(spooled);
        Ok(())
    }

    /// Those that can be read. The others cannot be done: they are kept aside, and told loudly.
    async fn readable(&self, spooled: &[Spooled]) -> Result<Vec<Waiting>, StoreError> {
        let (mut writes, mut unreadable) = (Vec::new(), Vec::<Unreadable>::new());
        for spooled in spooled {
            match record::waiting(spooled) {
                Ok(waiting) => writes.push(waiting),
                Err(why) => unreadable.push((spooled.clone(), why)),
            }
        }
        let Some((_, why)) = unreadable.first() else { return Ok(writes) };
        let (why, count, folder) = (why.clone(), unreadable.len(), self.0.spool.dir().to_owned());
        let kept = tokio::task::spawn_blocking(move || aside::keep(&folder, &unreadable)).await;
        let file = kept.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(StoreError::Aside)?;
        let file = file.display();
        error!(writes = count, why, %file, "writes in the spool cannot be read, and are kept in a file; were they made by a newer version?");
        Ok(writes)
    }

    /// Their effects on the caches have been carried out, or are owed by this process: it may look into its caches again.
    fn strike_off(&self, spooled: &[Spooled]) {
        let sequences: Vec<u64> = spooled.iter().map(|spooled| spooled.sequence).collect();
        self.0.spool.done(&sequences);
        if let Some(last) = sequences.last() {
            self.0.overlay.settled(*last);
        }
    }

    fn count(&self, waiting: &Waiting, settled: &Settled) {
        match settled {
            Settled::Written => self.0.settled.written.increment(1),
            Settled::Before => self.0.settled.before.increment(1),
            Settled::Conflict(conflict) => {
                let code = &waiting.write.code;
                warn!(%code, %conflict, "a write that was accepted could not be done; it is kept at /api/conflicts");
                self.0.settled.conflict.increment(1);
            }
        }
    }
}
