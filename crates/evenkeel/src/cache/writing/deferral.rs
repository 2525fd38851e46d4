//! Invalidations that survive their process: failed ones, stored in the keel's spool if it has one.

use super::ledger::{Demand, Pending};
use super::replay::Replayer;
use crate::context::Context;
use bytes::Bytes;
use std::sync::Arc;

#[cfg(feature = "spool")]
use crate::cache::settings::builder::MEMORY_PREFIX;
#[cfg(feature = "spool")]
use crate::spool::{PendingEffect, Spool, SpoolError};
#[cfg(feature = "spool")]
use evenkeel_link::Link;
#[cfg(feature = "spool")]
use evenkeel_link::support::{Recurring, guard};
#[cfg(feature = "spool")]
use evenkeel_protocol::cache::{keys::FRONT, steps::Mode};
#[cfg(feature = "spool")]
use std::sync::Weak;

/// One cache's topic in the spool.
#[derive(Clone, Default)]
pub(crate) struct Deferral {
    #[cfg(feature = "spool")]
    target: Option<Target>,
}

#[cfg(feature = "spool")]
#[derive(Clone)]
struct Target {
    spool: Spool,
    topic: Arc<str>,
    /// The failures that were logged.
    failing: Arc<Recurring>,
}

#[cfg(feature = "spool")]
impl Deferral {
    pub(crate) fn of(context: &Context, cache: &str) -> Self {
        let prefix = context.link.as_ref().map_or(MEMORY_PREFIX, Link::prefix);
        let target = context.spool.as_ref().map(|spool| Target {
            spool: spool.clone(),
            // The prefix of the cache's keys.
            topic: format!("{prefix}:{FRONT}{cache}").into(),
            failing: Arc::default(),
        });
        Self { target }
    }

    /// The invalidations that are in the spool from before.
    pub(crate) fn pending_in_spool(&self) -> Vec<(Bytes, Demand, u64)> {
        let Some(target) = self.target.as_ref().filter(|_| guard("spool_taken_over")) else { return Vec::new() };
        let pending = target.spool.pending(&target.topic, usize::MAX);
        let read = pending.into_iter().map(|spooled| {
            let demand = read(&spooled.effect.body);
            (spooled.effect.key, demand, spooled.sequence)
        });
        read.collect()
    }

    /// Sends an invalidation to the spool at once. The future returns whether it was stored, and waits for space if the spool's
    /// options allow that. `replayer` removes it after it has been applied.
    pub(crate) fn defer(
        &self,
        replayer: &Arc<Replayer>,
        pending: &Pending,
    ) -> impl Future<Output = bool> + Send + use<> {
        let (reply, stored) = tokio::sync::oneshot::channel();
        let (this, key) = (self.clone(), Bytes::copy_from_slice(&pending.key));
        let body = write(pending.demand);
        let replayer = Arc::downgrade(replayer);
        if let Some(target) = &self.target {
            let effect = PendingEffect::delete(Arc::clone(&target.topic), key.clone(), body.clone());
            let (this, key, replayer) = (this.clone(), key.clone(), Weak::clone(&replayer));
            let answered = move |answer: Result<u64, SpoolError>| {
                if let Ok(sequence) = answer {
                    this.stored(&replayer, &key, sequence);
                }
                let _ = reply.send(answer);
            };
            target.spool.append_then(effect, Box::new(answered));
        }
        async move {
            let mut answer = stored.await.unwrap_or(Err(SpoolError::Closed));
            let Some(target) = &this.target else { return false };
            if let Err(SpoolError::Full { .. }) = answer {
                answer = target.spool.append(PendingEffect::delete(Arc::clone(&target.topic), key.clone(), body)).await;
                if let Ok(sequence) = answer {
                    this.stored(&replayer, &key, sequence);
                }
            }
            match &answer {
                Ok(_) => target.failing.over("append"),
                Err(error) => {
                    if let Some(times) = target.failing.line_due("append", &cause(error)) {
                        tracing::warn!(%error, times, "a failed invalidation could not be stored in the spool; others may not either");
                    }
                }
            }
            answer.is_ok() || !guard("deferred_is_kept")
        }
    }

    /// It is in the spool now; it may have been applied meanwhile.
    fn stored(&self, replayer: &Weak<Replayer>, key: &[u8], sequence: u64) {
        if replayer.upgrade().is_some_and(|replayer| !replayer.ledger.spooled(key, sequence)) {
            self.done(sequence);
        }
    }

    /// Removes one from the spool.
    pub(crate) fn done(&self, sequence: u64) {
        if let Some(target) = self.target.as_ref().filter(|_| guard("spool_struck_off")) {
            target.spool.done(&[sequence]);
        }
    }
}

#[cfg(not(feature = "spool"))]
impl Deferral {
    pub(crate) fn of(_context: &Context, _cache: &str) -> Self {
        Self::default()
    }

    pub(crate) fn pending_in_spool(&self) -> Vec<(Bytes, Demand, u64)> {
        Vec::new()
    }

    pub(crate) fn defer(
        &self,
        _replayer: &Arc<Replayer>,
        _duty: &Pending,
    ) -> impl Future<Output = bool> + Send + use<> {
        std::future::ready(false)
    }

    pub(crate) fn done(&self, _sequence: u64) {}
}

/// What distinguishes failures: how full the spool is changes with each effect.
#[cfg(feature = "spool")]
fn cause(error: &SpoolError) -> String {
    match error {
        SpoolError::Full { .. } => "the spool is full".to_owned(),
        other => other.to_string(),
    }
}

/// The encoding in the spool: 1, the mode (0 expire, 1 purge), `retain_ms`, whether there is a floor, the floor, `lag_ms_max`;
/// numbers are little-endian.
#[cfg(feature = "spool")]
fn write(demand: Demand) -> Vec<u8> {
    let (mode, retain_ms) = match demand.mode {
        Mode::Expire { retain_ms } => (0, retain_ms),
        Mode::Purge => (1, 0),
    };
    let mut bytes = vec![1, mode];
    bytes.extend(retain_ms.to_le_bytes());
    bytes.push(u8::from(demand.floor.is_some()));
    bytes.extend(demand.floor.unwrap_or(0).to_le_bytes());
    bytes.extend(demand.lag_ms_max.to_le_bytes());
    bytes
}

/// An encoding of a newer program is carried out as a purge, the strictest mode: no older value is ever served.
#[cfg(feature = "spool")]
fn read(bytes: &[u8]) -> Demand {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let demand = || {
        let mode = match bytes.get(..2)? {
            [1, 0] => Mode::Expire { retain_ms: number(2)? },
            [1, 1] => Mode::Purge,
            _ => return None,
        };
        let floor = if *bytes.get(10)? == 1 { Some(number(11)?) } else { None };
        Some(Demand { mode, floor, lag_ms_max: number(19)? })
    };
    demand().unwrap_or_else(|| Mode::Purge.into())
}

#[cfg(all(test, feature = "spool"))]
mod tests {
    use super::*;

    #[test]
    fn demand_round_trips_and_an_unknown_one_is_a_purge() {
        let expire = Demand { mode: Mode::Expire { retain_ms: 700 }, floor: Some(9), lag_ms_max: 3 };
        let purge = Demand { mode: Mode::Purge, floor: None, lag_ms_max: 0 };
        for demand in [expire, purge] {
            assert_eq!(read(&write(demand)), demand);
        }
        for strange in [&b""[..], b"\x02\x00", &write(expire)[..20]] {
            assert_eq!(read(strange), Mode::Purge.into());
        }
    }
}
