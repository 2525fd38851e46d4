//! [`Clicks`]: counts who follows a link, without delaying the redirect.
//!
//! A redirect puts its click into a bounded buffer in this process. A task counts the buffered clicks by link and appends the counts to a
//! stream, about once a second (`append`). The instances share the entries of the stream and add them to counters per link and day in the
//! database, each entry once (`fold`).

mod append;
mod fold;
mod metrics;
mod stream;

use super::Service;
use crate::domain::{ClickStats, DayNumber, Link, is_bot};
use append::Appender;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::stream::StreamError;
use metrics::{ClickMetrics, Dropped};
use std::sync::Arc;
use stream::ClickStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use web::signed;

/// Clicks that the buffer holds until the appending task counts them, which it does about fifty times a second.
const BUFFER: usize = 65_536;

/// A redirect that was served.
struct Click {
    code: Box<str>,
    day: DayNumber,
    is_bot: bool,
}

/// The buffer of clicks, and the stream that they are appended to. Cheap to clone.
#[derive(Clone)]
pub(super) struct Clicks(Arc<Inner>);

struct Inner {
    buffer: mpsc::Sender<Click>,
    stream: ClickStream,
    metrics: Arc<ClickMetrics>,
    clock: Clock,
    stop: CancellationToken,
    appending: TaskTracker,
}

impl Clicks {
    /// Opens the stream in the Redis of `keel`, or in this process if it has none, and begins to append. If Redis is unreachable, the
    /// stream is opened later.
    ///
    /// # Errors
    /// [`StreamError`], if a retry cannot succeed.
    pub(super) async fn open(keel: &Keel, clock: &Clock) -> Result<Self, StreamError> {
        let stream = ClickStream::new(keel);
        stream.open().await?;
        let (buffer, receiver) = mpsc::channel(BUFFER);
        let (metrics, stop) = (Arc::new(ClickMetrics::register()), CancellationToken::new());
        let appender = Appender::new(receiver, stream.clone(), Arc::clone(&metrics), stop.clone(), clock.clone());
        let appending = TaskTracker::new();
        appending.spawn(appender.run());
        appending.close();
        Ok(Self(Arc::new(Inner { buffer, stream, metrics, clock: clock.clone(), stop, appending })))
    }

    /// Takes a click. Never waits: without room in the buffer the click is dropped and counted as dropped.
    fn record(&self, code: &str, agent: Option<&[u8]>) {
        let day = DayNumber::of_ms(signed(self.0.clock.unix_ms()));
        let click = Click { code: code.into(), day, is_bot: is_bot(agent) };
        match self.0.buffer.try_send(click) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => self.0.metrics.dropped(Dropped::BufferFull, 1),
            Err(mpsc::error::TrySendError::Closed(_)) => self.0.metrics.dropped(Dropped::Stopping, 1),
        }
    }
}

impl Service {
    /// Counts a redirect that is being served, with the visitor's `User-Agent`. Never waits.
    pub(crate) fn count_click(&self, code: &str, agent: Option<&[u8]>) {
        if let Some(clicks) = &self.0.clicks {
            clicks.record(code, agent);
        }
    }

    /// Whether clicks are counted.
    #[must_use]
    pub fn counts_clicks(&self) -> bool {
        self.0.clicks.is_some()
    }

    /// The clicks of a link: in total, and on each of the last `days` days; `None` if there is no such link. They lag behind the redirects.
    ///
    /// # Errors
    /// [`ServiceError::Store`](super::ServiceError::Store).
    pub async fn clicks(&self, code: &str, days: u32) -> Result<Option<ClickStats>, super::ServiceError> {
        let Some(link) = self.get(code).await? else { return Ok(None) };
        self.clicks_of(&link, days).await.map(Some)
    }

    /// The clicks of a link that was read, as [`clicks`](Self::clicks).
    ///
    /// # Errors
    /// [`ServiceError::Store`](super::ServiceError::Store).
    pub async fn clicks_of(&self, link: &Link, days: u32) -> Result<ClickStats, super::ServiceError> {
        self.with_read_timeout(self.store().clicks(&link.code, days)).await
    }

    /// Appends what is in the buffer of clicks, and takes no more. Stop accepting requests first, and bound the wait: without Redis it has
    /// no end.
    pub async fn clicks_appended(&self) {
        if let Some(clicks) = &self.0.clicks {
            clicks.0.stop.cancel();
            clicks.0.appending.wait().await;
        }
    }
}
