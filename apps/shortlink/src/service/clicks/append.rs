//! [`Appender`]: counts buffered clicks by link, and appends the counts to the stream.

use super::Click;
use super::metrics::{ClickMetrics, Dropped};
use super::stream::{ClickEntry, ClickStream, LINKS_MAX, LinkClicks};
use crate::domain::{ClickCounts, DayNumber};
use evenkeel::clock::Clock;
use evenkeel::stream::StreamError;
use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, error::TryRecvError};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// How often buffered clicks are counted. Not on each click: a redirect would wake this task.
const TICK: Duration = Duration::from_millis(20);

/// How many ticks the counts of an append are gathered for: a second.
const TICKS_PER_APPEND: u32 = 50;

/// The parts in which an append is sent, one at a tick, and the fewest entries of a part. In one piece the counts of tens of thousands of links
/// would occupy Redis for milliseconds, in which redirects wait.
const PARTS: usize = 25;
const PART_MIN: usize = 4;

/// The most counters. Once there are so many, which takes an outage of Redis, clicks stay in the buffer until it is full.
const COUNTERS_MAX: usize = 65_536;

/// The limit of one attempt to append.
const APPEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed attempt.
const PAUSE: Duration = Duration::from_millis(500);

/// The most clicks that are counted in a row, so that the task yields.
const DRAIN_MAX: usize = 16_384;

type Counters = HashMap<(Box<str>, DayNumber), ClickCounts>;
type Sending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The task that appends clicks.
pub(super) struct Appender {
    buffer: mpsc::Receiver<Click>,
    counters: Counters,
    stream: ClickStream,
    metrics: Arc<ClickMetrics>,
    stop: CancellationToken,
    clock: Clock,
    source: String,
    number: u64,
}

impl Appender {
    pub(super) fn new(
        buffer: mpsc::Receiver<Click>,
        stream: ClickStream,
        metrics: Arc<ClickMetrics>,
        stop: CancellationToken,
        clock: Clock,
    ) -> Self {
        let source = format!("{:032x}", rand::random::<u128>());
        Self { buffer, counters: Counters::new(), stream, metrics, stop, clock, source, number: 0 }
    }

    /// Runs until the service stops and everything is appended.
    pub(super) async fn run(mut self) {
        let (mut sending, mut ticks, mut is_stopping): (Option<Sending>, u32, bool) = (None, 0, false);
        loop {
            let is_idle = self.counters.is_empty() && sending.is_none();
            tokio::select! {
                () = sent(&mut sending) => sending = None,
                click = self.buffer.recv(), if is_idle => match click {
                    Some(click) => self.count(click),
                    None => return,
                },
                () = self.clock.sleep(TICK), if !is_idle => ticks += 1,
                () = self.stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    self.buffer.close();
                }
            }
            let is_last = self.drain();
            self.metrics.report_dropped(&self.clock);
            let is_due = is_last || ticks >= TICKS_PER_APPEND;
            if is_due && sending.is_none() && !self.counters.is_empty() {
                ticks = 0;
                sending = Some(self.send());
            }
        }
    }

    /// Counts what is in the buffer. Returns whether it is empty for good.
    fn drain(&mut self) -> bool {
        for _ in 0..DRAIN_MAX {
            if self.counters.len() >= COUNTERS_MAX {
                return false;
            }
            match self.buffer.try_recv() {
                Ok(click) => self.count(click),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
        false
    }

    fn count(&mut self, click: Click) {
        let counts = self.counters.entry((click.code, click.day)).or_default();
        if click.is_bot { counts.bots += 1 } else { counts.people += 1 }
    }

    /// Takes the counts and appends them, however often it takes.
    fn send(&mut self) -> Sending {
        let counters = std::mem::take(&mut self.counters);
        let link = |((code, day), counts): ((Box<str>, DayNumber), ClickCounts)| {
            let ClickCounts { people, bots } = counts;
            LinkClicks { code, day: day.0, people, bots }
        };
        let (mut links, mut batch) = (counters.into_iter().map(link).peekable(), Vec::new());
        while links.peek().is_some() {
            self.number += 1;
            let links = links.by_ref().take(LINKS_MAX).collect();
            batch.push(ClickEntry { source: self.source.clone(), number: self.number, links });
        }
        let (stream, metrics, clock) = (self.stream.clone(), Arc::clone(&self.metrics), self.clock.clone());
        let stop = self.stop.clone();
        Box::pin(async move {
            let part = batch.len().div_ceil(PARTS).max(PART_MIN);
            for (index, part) in batch.chunks(part).enumerate() {
                if index > 0 {
                    stop.run_until_cancelled(clock.sleep(TICK)).await;
                }
                until_appended(&stream, part, &metrics, &clock).await;
            }
        })
    }
}

/// Ready once the append, if there is one, has ended.
async fn sent(sending: &mut Option<Sending>) {
    match sending {
        Some(sending) => sending.await,
        None => pending().await,
    }
}

/// Appends a batch. An attempt whose outcome is unknown is repeated with the same names of entries, so no click is counted twice.
async fn until_appended(stream: &ClickStream, batch: &[ClickEntry], metrics: &ClickMetrics, clock: &Clock) {
    let refused = until_answered(|| append(stream, batch, metrics, clock), metrics, clock).await;
    if let Err(error) = refused {
        let clicks = batch.iter().map(ClickEntry::counts).sum::<ClickCounts>().all();
        metrics.refused(clicks, &error);
    }
}

/// Repeats an attempt until it succeeds.
///
/// # Errors
/// Redis refuses it, and it was not executed: a repetition does not help.
async fn until_answered<F: Future<Output = Result<(), StreamError>>>(
    attempt: impl Fn() -> F,
    metrics: &ClickMetrics,
    clock: &Clock,
) -> Result<(), StreamError> {
    let mut is_waiting = false;
    loop {
        match clock.timeout(APPEND_TIMEOUT, attempt()).await {
            Ok(Ok(())) => {
                if is_waiting {
                    info!("clicks are appended again");
                }
                return Ok(());
            }
            Ok(Err(error)) if !error.is_retryable() && !error.outcome_unknown() => return Err(error),
            Ok(Err(error)) => log_waiting(is_waiting, &error),
            Err(_) => log_waiting(is_waiting, &format_args!("Redis did not reply within {APPEND_TIMEOUT:?}")),
        }
        is_waiting = true;
        metrics.report_dropped(clock);
        clock.sleep(PAUSE).await;
    }
}

/// The first failure of an append is a warning; the next ones are expected.
fn log_waiting(is_waiting: bool, error: &dyn fmt::Display) {
    if is_waiting {
        debug!(%error, "clicks still wait in this process");
    } else {
        warn!(%error, "clicks wait in this process until they can be appended");
    }
}

async fn append(
    stream: &ClickStream,
    batch: &[ClickEntry],
    metrics: &ClickMetrics,
    clock: &Clock,
) -> Result<(), StreamError> {
    let stream = stream.get().await?;
    let entries = batch.iter().map(|entry| stream.entry(entry.name().as_bytes(), entry));
    let results = stream.append_many(entries).await?;
    let mut appended = 0;
    for (result, entry) in results.iter().zip(batch) {
        let clicks = entry.counts().all();
        match result {
            Ok(_) => appended += clicks,
            Err(StreamError::Full { .. }) => metrics.dropped(Dropped::StreamFull, clicks),
            Err(error) => metrics.refused(clicks, error),
        }
    }
    metrics.appended(appended, clock.unix_ms());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{APPEND_TIMEOUT, ClickMetrics, PAUSE, until_answered};
    use evenkeel::testing::TestClock;
    use futures_util::{FutureExt, poll};
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::task::Poll;
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// Counts warnings.
    #[derive(Clone, Default)]
    struct Warnings(Arc<AtomicUsize>);

    impl Subscriber for Warnings {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn event(&self, event: &Event<'_>) {
            self.0.fetch_add(usize::from(*event.metadata().level() == Level::WARN), Ordering::Relaxed);
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[tokio::test]
    async fn first_append_that_times_out_is_a_warning() {
        let warnings = Warnings::default();
        let _gathering = tracing::subscriber::set_default(warnings.clone());
        let (time, metrics, answers) = (TestClock::default(), ClickMetrics::register(), AtomicBool::new(false));
        let clock = time.clock();
        let attempt = || match answers.load(Ordering::Relaxed) {
            true => ready(Ok(())).boxed(),
            false => pending().boxed(),
        };
        let mut appending = pin!(until_answered(attempt, &metrics, &clock));
        assert!(poll!(&mut appending).is_pending());
        for outage in 0..3 {
            assert_eq!(warnings.0.load(Ordering::Relaxed), usize::from(outage > 0), "after {outage} attempts");
            time.advance(APPEND_TIMEOUT);
            assert!(poll!(&mut appending).is_pending());
            answers.store(outage == 2, Ordering::Relaxed);
            time.advance(PAUSE);
            let polled = poll!(&mut appending);
            assert_eq!(matches!(polled, Poll::Ready(Ok(()))), outage == 2);
        }
        assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
    }
}
