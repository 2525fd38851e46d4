//! [`Collector`]: reads the figures of the source, for all pages and streams together.
//!
//! One task reads every two seconds while a page is open, and every ten seconds otherwise, so the number of browsers does not change what Redis
//! has to do. Process reports (hit ratios, slots, schedules) are read with them, and when a page shows them, once a second at most.

mod export;
mod handlers;
mod problems;
mod processes;
mod reported;
mod ring;

pub(crate) use problems::Trouble;
pub(crate) use processes::Reports;
pub(crate) use ring::{POINTS, Series};

use super::source::Source;
use crate::process::figures::living;
use crate::stream::figures::Figures;
use crate::time::span;
use crate::trouble;
use evenkeel::clock::Clock;
use evenkeel::queue::QueueError;
use evenkeel::queue::topic::{Listing, Rejection, Topic, TopicStats};
use evenkeel::sql::relay::operate::OutboxStats;
use evenkeel::stream::StreamError;
use export::Export;
use handlers::{Handled, HandlerTimes};
use parking_lot::{Mutex, RwLock};
use processes::LastReports;
use ring::Ring;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The pause between readings while a page is open, and otherwise.
const FAST: Duration = Duration::from_secs(2);
const SLOW: Duration = Duration::from_secs(10);
/// A shard, or a partition in a group of a stream, adds this to the shortest pause, so that reading many shards leaves Redis most of its time. (65 us a shard, as measured,
/// are half a percent.)
const PAUSE_PER_SHARD: Duration = Duration::from_millis(12);
/// Topics with a ring of their own. Further ones have figures, but no charts.
const RINGS_MAX: usize = 500;
/// One reading may take this long.
const READ_MAX: Duration = Duration::from_secs(20);

/// What was read last.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    /// When it was read, in ms since 1970; 0: never.
    pub(crate) at: u64,
    /// Why the last reading failed, while the figures are those of an earlier one.
    pub(crate) failed: Option<String>,
    pub(crate) topics: Vec<TopicFigures>,
    /// Topics that could not be read although others were, and why. Their figures are those of an earlier reading.
    pub(crate) unread_topics: Vec<(String, String)>,
    pub(crate) streams: Vec<Figures>,
    /// The same of streams.
    pub(crate) unread_streams: Vec<(String, String)>,
    /// Why the streams could not be read, while their figures are those of an earlier reading.
    pub(crate) streams_failed: Option<String>,
    /// `None`: the source has no database, or it did not answer, as `outbox_failed` says.
    pub(crate) outbox: Option<OutboxStats>,
    pub(crate) outbox_failed: Option<String>,
    pub(crate) troubles: Vec<Trouble>,
}

impl Snapshot {
    /// The topics, those that need attention first, in the order of their names otherwise.
    pub(crate) fn worst_first(&self) -> Vec<&TopicFigures> {
        let mut topics: Vec<&TopicFigures> = self.topics.iter().collect();
        topics.sort_by_key(|topic| std::cmp::Reverse(trouble::of_topic(&topic.stats)));
        topics
    }
}

/// The figures of one topic.
#[derive(Clone)]
pub(crate) struct TopicFigures {
    pub(crate) name: String,
    pub(crate) stats: Arc<TopicStats>,
    pub(crate) done_rate: Option<f64>,
    /// Rows decide about its jobs, and the source has no database.
    pub(crate) needs_database: bool,
}

/// See the module.
pub(crate) struct Collector {
    source: Arc<Source>,
    clock: Clock,
    /// The time of one point of the charts.
    step: Duration,
    snapshot: watch::Sender<Arc<Snapshot>>,
    rings: RwLock<BTreeMap<String, Ring>>,
    handlers: Mutex<HandlerTimes>,
    /// Since when each trouble stands, in ms since 1970.
    since: RwLock<BTreeMap<String, u64>>,
    export: Export,
    reports: LastReports,
    pages: AtomicUsize,
    opened: Notify,
}

/// An open page.
pub(crate) struct OpenPage(Arc<Collector>);

impl Collector {
    pub(crate) fn new(source: Arc<Source>, clock: Clock, step: Duration) -> Arc<Self> {
        let snapshot = watch::Sender::new(Arc::default());
        let (rings, since) = (RwLock::default(), RwLock::default());
        Arc::new(Self {
            source,
            clock,
            step,
            snapshot,
            rings,
            handlers: Mutex::default(),
            since,
            export: Export::default(),
            reports: LastReports::default(),
            pages: AtomicUsize::new(0),
            opened: Notify::new(),
        })
    }

    /// The last reading.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.borrow().clone()
    }

    /// Every reading.
    pub(crate) fn readings(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshot.subscribe()
    }

    /// The time of one point of the charts.
    pub(crate) fn step(&self) -> Duration {
        self.step
    }

    /// Now, in ms since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// Counts an open page, while the value lives.
    pub(crate) fn open(self: &Arc<Self>) -> OpenPage {
        if self.pages.fetch_add(1, Ordering::Relaxed) == 0 {
            self.opened.notify_one();
        }
        OpenPage(Arc::clone(self))
    }

    /// The number of open pages.
    pub(crate) fn open_pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    /// The last hour of a topic; with `None`, the sum over all topics with a ring (of times, the maximum).
    pub(crate) fn values(&self, topic: Option<&str>, series: Series) -> Vec<Option<f32>> {
        let rings = self.rings.read();
        match topic {
            Some(topic) => rings.get(topic).map(|ring| ring.values(series)).unwrap_or_default(),
            None => rings.values().fold(Vec::new(), |sum, ring| add(&sum, &ring.values(series), series)),
        }
    }

    /// Reads at its interval, for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            self.run_once().await;
            let shards: usize = self.snapshot().topics.iter().map(|topic| topic.stats.shards.len()).sum();
            let of_stream = |stream: &Figures| stream.groups.len() * usize::from(stream.partitions);
            let parts = shards + self.snapshot().streams.iter().map(of_stream).sum::<usize>();
            let floor = PAUSE_PER_SHARD * u32::try_from(parts).unwrap_or(u32::MAX);
            // Charts with shorter steps than an hour needs, of a demo, are filled with or without an open page.
            let pause = if self.open_pages() > 0 { FAST } else { SLOW.min(self.step) };
            tokio::select! {
                () = self.clock.sleep(pause.max(floor)) => {}
                () = self.opened.notified() => {}
            }
        }
    }

    /// One reading. If it fails, the figures of the last one stay, with their age and the reason.
    pub(crate) async fn run_once(&self) {
        let mut next = Snapshot::clone(&self.snapshot());
        // If they cannot be read, Redis does not answer, which is a problem of its own.
        let reports = self.read_reports().await.ok();
        let reported = reports.iter().flat_map(living).map(|(process, report)| (process.id.as_str(), report));
        let handled = self.handlers.lock().next(reported);
        match self.clock.timeout(READ_MAX, self.read_topics(&handled)).await {
            Ok(Ok(read)) => {
                (next.at, next.failed) = (self.now(), None);
                (next.topics, next.unread_topics) = kept(read, &next.topics, |topic| &topic.name);
            }
            Ok(Err(error)) => next.failed = Some(error.to_string()),
            Err(_) => next.failed = Some(format!("Redis took longer than {} s", READ_MAX.as_secs())),
        }
        match self.clock.timeout(READ_MAX, self.read_streams()).await {
            Ok(Ok(read)) => {
                next.streams_failed = None;
                (next.streams, next.unread_streams) = kept(read, &next.streams, |stream| &stream.name);
            }
            Ok(Err(error)) => next.streams_failed = Some(error.to_string()),
            Err(_) => next.streams_failed = Some(format!("Redis took longer than {} s", READ_MAX.as_secs())),
        }
        if let Some(database) = &self.source.database {
            match database.outbox_stats().await {
                Ok(stats) => (next.outbox, next.outbox_failed) = (Some(stats), None),
                Err(error) => (next.outbox, next.outbox_failed) = (None, Some(error.to_string())),
            }
        }
        next.troubles = problems::find(&next, self.source.database.is_some());
        if let Some(found) = &reports {
            reported::find(found, &mut next.troubles);
        }
        self.date(&mut next.troubles);
        self.export.set(&next, self.source.database.is_some());
        self.snapshot.send_replace(Arc::new(next));
    }

    /// `handled` are the handlers that have returned since the last reading, by topic.
    async fn read_topics(
        &self,
        handled: &BTreeMap<String, Handled>,
    ) -> Result<Listing<TopicFigures, QueueError>, QueueError> {
        let topics = self.source.keel.topics().await?;
        let mut figures = Listing { found: Vec::with_capacity(topics.found.len()), rejected: topics.rejected };
        for topic in topics.found {
            let handled = handled.get(topic.name()).copied().unwrap_or_default();
            let read = self.read_topic(&topic, handled).await;
            figures.note(topic.name(), read, QueueError::is_retryable)?;
        }
        let is_here = |name: &String| {
            figures.found.iter().any(|topic| topic.name == *name)
                || figures.rejected.iter().any(|rejection| rejection.part == *name)
        };
        self.rings.write().retain(|name, _| is_here(name));
        Ok(figures)
    }

    async fn read_streams(&self) -> Result<Listing<Figures, StreamError>, StreamError> {
        let streams = self.source.keel.streams().await?;
        let mut all = Listing { found: Vec::with_capacity(streams.found.len()), rejected: streams.rejected };
        for stream in streams.found {
            all.note(stream.name(), Figures::read(&stream).await, StreamError::is_retryable)?;
        }
        Ok(all)
    }

    async fn read_topic(&self, topic: &Topic, handled: Handled) -> Result<TopicFigures, QueueError> {
        let stats = topic.stats().await?;
        let name = topic.name().to_owned();
        let mut rings = self.rings.write();
        let done_rate = if rings.contains_key(&name) || rings.len() < RINGS_MAX {
            let ring = rings.entry(name.clone()).or_insert_with(|| Ring::new(ms(self.step)));
            ring.add(&stats, handled);
            ring.done_rate
        } else {
            None
        };
        let needs_database = topic.needs_database() && self.source.database.is_none();
        Ok(TopicFigures { name, stats: Arc::new(stats), done_rate, needs_database })
    }

    /// Sets for how long each trouble has stood.
    fn date(&self, troubles: &mut [Trouble]) {
        let (now, mut since) = (self.now(), self.since.write());
        since.retain(|id, _| troubles.iter().any(|trouble| trouble.id == *id));
        for trouble in troubles {
            trouble.since = span(now.saturating_sub(*since.entry(trouble.id.clone()).or_insert(now)));
        }
    }
}

/// What was read, with the earlier figures of what could not be read, by name; and the names of the latter, with the reason.
fn kept<T: Clone, E: Display>(
    Listing { mut found, rejected }: Listing<T, E>,
    before: &[T],
    name: impl Fn(&T) -> &String,
) -> (Vec<T>, Vec<(String, String)>) {
    let is_rejected = |one: &&T| rejected.iter().any(|rejection| rejection.part == *name(one));
    found.extend(before.iter().filter(is_rejected).cloned());
    found.sort_by(|one, other| name(one).cmp(name(other)));
    (found, rejected.into_iter().map(|Rejection { part, error }| (part, error.to_string())).collect())
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.0.pages.fetch_sub(1, Ordering::Relaxed);
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Adds two series that end now. Before a series begins, the sum is the other one.
fn add(sum: &[Option<f32>], values: &[Option<f32>], series: Series) -> Vec<Option<f32>> {
    let length = sum.len().max(values.len());
    let at = |of: &[Option<f32>], index: usize| (index + of.len()).checked_sub(length).map(|index| of[index]);
    let is_of_times = matches!(series, Series::Late | Series::Handler);
    let both = |a: f32, b: f32| if is_of_times { a.max(b) } else { a + b };
    (0..length)
        .map(|index| match (at(sum, index), at(values, index)) {
            (Some(Some(a)), Some(Some(b))) => Some(both(a, b)),
            // A topic without a reading would look like one without jobs.
            (Some(one), Some(other)) => one.or(other).filter(|_| is_of_times),
            (one, other) => one.or(other).flatten(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A topic that was not read in a step made the sum fall to what the others have.
    // shows: hazard CL27
    #[test]
    fn sum_has_a_gap_where_a_topic_has_no_reading() {
        let (many, few) = ([Some(100.0), None, Some(100.0)], [Some(1.0), Some(2.0)]);
        assert_eq!(add(&many, &few, Series::Waiting), [Some(100.0), None, Some(102.0)]);
        assert_eq!(add(&few, &many, Series::Waiting), [Some(100.0), None, Some(102.0)]);
        assert_eq!(add(&many, &few, Series::Handler), [Some(100.0), Some(1.0), Some(100.0)]);
        assert_eq!(add(&[], &few, Series::Done), few);
    }
}
