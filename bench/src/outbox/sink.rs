//! A sink that accepts and counts every message, and measures its delay.

use anyhow::Result;
use bytes::Bytes;
use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// Longer than this nothing takes.
const MICROS_MAX: u64 = 60_000_000;

/// Clones are the same sink.
#[derive(Clone)]
pub(super) struct Counting {
    taken: watch::Sender<u64>,
    times: Arc<Mutex<Histogram<u64>>>,
    since: Instant,
}

impl Counting {
    pub(super) fn new() -> Result<Self> {
        let times = Arc::new(Mutex::new(Histogram::new_with_max(MICROS_MAX, 3)?));
        Ok(Self { taken: watch::Sender::new(0), times, since: Instant::now() })
    }

    /// A payload that says when it was made.
    pub(super) fn timestamp(&self) -> Bytes {
        Bytes::copy_from_slice(&self.micros().to_be_bytes())
    }

    /// Waits until it has taken so many.
    pub(super) async fn until(&self, messages: u64) -> Result<()> {
        self.taken.subscribe().wait_for(|taken| *taken >= messages).await?;
        Ok(())
    }

    pub(super) fn taken(&self) -> u64 {
        *self.taken.borrow()
    }

    /// Of the times from timestamp to sink, in ms.
    pub(super) fn quantile(&self, quantile: f64) -> f64 {
        let times = self.times.lock();
        times.value_at_quantile(quantile) as f64 / 1_000.0
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Sink for Counting {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        if let Ok(timestamp) = <[u8; 8]>::try_from(&message.payload[..]) {
            let took = self.micros().saturating_sub(u64::from_be_bytes(timestamp)).clamp(1, MICROS_MAX);
            let mut times = self.times.lock();
            times.saturating_record(took);
        }
        self.taken.send_modify(|taken| *taken += 1);
        Ok(Confirmed::Accepted)
    }
}
