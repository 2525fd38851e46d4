//! The thread that owns the files: it receives messages, writes them in as few calls as possible, and replies.

use super::effect::PendingEffect;
use super::error::SpoolError;
use super::format::{Entry, frame_bytes};
use super::live::Live;
use super::metrics::SpoolMetrics;
use super::options::{Fsync, SpoolOptions};
use super::segments::Segments;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Recurring, crash_point, guard};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot, watch};

/// The maximum number of messages that share one write.
const BATCH_MAX: usize = 512;

/// The longest topic.
const TOPIC_BYTES_MAX: u64 = 255;

/// State shared by the handles and the thread.
pub(super) struct Shared {
    pub(super) live: Mutex<Live>,
    pub(super) metrics: SpoolMetrics,
    pub(super) clock: Clock,
    /// Changes whenever an effect is done, for callers that wait for space.
    pub(super) room: watch::Sender<u64>,
    /// Notified when data was written and not synced.
    pub(super) dirty: Notify,
    /// The latest statistics of the thread.
    pub(super) figures: Mutex<Figures>,
}

/// The latest statistics of the thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) file_bytes: u64,
    pub(super) syncs: u64,
    pub(super) torn_bytes: u64,
}

/// Receives the result of an append, on the writer thread.
pub(super) type Answer = Box<dyn FnOnce(Result<u64, SpoolError>) + Send>;

pub(super) enum Message {
    Append(PendingEffect, Answer),
    Done(Vec<u64>),
    Sync(oneshot::Sender<Result<(), SpoolError>>),
    Close(oneshot::Sender<()>),
}

pub(super) struct Writer {
    segments: Segments,
    shared: Arc<Shared>,
    options: SpoolOptions,
    /// Why nothing is accepted any more.
    broken: Option<SpoolError>,
    /// The last write failed and was logged.
    is_failing: bool,
    is_dirty: bool,
    /// The other failures that were logged.
    failing: Recurring,
}

impl Shared {
    pub(super) fn new(live: Live, clock: Clock) -> Self {
        Self {
            live: Mutex::new(live),
            metrics: SpoolMetrics::register(),
            clock,
            room: watch::Sender::new(0),
            dirty: Notify::new(),
            figures: Mutex::default(),
        }
    }
}

impl Writer {
    pub(super) fn new(segments: Segments, shared: Arc<Shared>, options: SpoolOptions) -> Self {
        let failing = Recurring::default();
        let writer = Self { segments, shared, options, broken: None, is_failing: false, is_dirty: false, failing };
        writer.update_gauges();
        writer
    }

    /// Runs until all handles are dropped, or one of them closes the spool.
    pub(super) fn run(mut self, mut messages: UnboundedReceiver<Message>) {
        let mut closing = None;
        while closing.is_none() {
            let Some(first) = messages.blocking_recv() else { break };
            let mut batch = vec![first];
            while batch.len() < BATCH_MAX
                && let Ok(next) = messages.try_recv()
            {
                batch.push(next);
            }
            closing = self.serve(batch);
        }
        if self.options.fsync != Fsync::Never && self.is_dirty {
            let _ = self.sync();
        }
        // The lock is released before `close` returns.
        drop(self);
        // A receiver that is only dropped may leave a message of a call at the same time in the channel, where it waits for its reply as long
        // as a handle of the spool exists. Dropped here, the call returns that the spool is closed.
        messages.close();
        while messages.blocking_recv().is_some() {}
        if let Some(closed) = closing {
            let _ = closed.send(());
        }
    }

    /// Processes a batch in one frame and one sync, or in as many as its size needs.
    fn serve(&mut self, batch: Vec<Message>) -> Option<oneshot::Sender<()>> {
        let mut batch = batch.into_iter().peekable();
        let mut closing = None;
        while batch.peek().is_some() {
            let mut entries = Vec::new();
            let mut answers = Vec::new();
            let mut bytes = 0;
            while bytes < self.options.segment_bytes
                && let Some(message) = batch.next()
            {
                match message {
                    Message::Append(effect, answer) => match self.admit(&effect, bytes) {
                        Ok(()) => {
                            let sequence = self.shared.live.lock().next_sequence() + answers.len() as u64;
                            bytes += frame_bytes(&effect);
                            entries.push(Entry::Put { sequence, effect });
                            answers.push((sequence, answer));
                        }
                        Err(error) => self.reject(answer, error),
                    },
                    Message::Done(sequences) => {
                        let live = self.shared.live.lock();
                        let known = sequences.into_iter().filter(|sequence| live.contains(*sequence));
                        entries.extend(known.map(Entry::Done));
                    }
                    Message::Sync(asked) => {
                        let written = self.commit(std::mem::take(&mut entries), std::mem::take(&mut answers));
                        bytes = 0;
                        let _ = asked.send(written.and_then(|()| self.sync()));
                    }
                    Message::Close(closed) => closing = Some(closed),
                }
            }
            // The senders have received their replies; an error affects the next call.
            let _ = self.commit(entries, answers);
        }
        closing
    }

    fn admit(&self, effect: &PendingEffect, bytes_before: u64) -> Result<(), SpoolError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let (bytes, bytes_max) = (frame_bytes(effect), self.options.bytes_max);
        let topic_bytes = effect.topic.len() as u64;
        if topic_bytes > TOPIC_BYTES_MAX {
            return Err(SpoolError::LongTopic { bytes: topic_bytes, bytes_max: TOPIC_BYTES_MAX });
        }
        if bytes > self.options.segment_bytes {
            return Err(SpoolError::TooLarge { bytes, bytes_max: self.options.segment_bytes });
        }
        let waiting = self.shared.live.lock().bytes() + bytes_before;
        if waiting + bytes > bytes_max && guard("spool_bound") {
            return Err(SpoolError::Full { bytes: waiting, bytes_max });
        }
        Ok(())
    }

    fn reject(&self, answer: Answer, error: SpoolError) {
        match error {
            SpoolError::Full { .. } => self.shared.metrics.full.increment(1),
            _ => self.shared.metrics.failed.increment(1),
        }
        answer(Err(error));
    }

    /// Writes a frame, syncs it as the policy demands, and only then replies.
    fn commit(&mut self, entries: Vec<Entry>, answers: Vec<(u64, Answer)>) -> Result<(), SpoolError> {
        if entries.is_empty() {
            return Ok(());
        }
        // A `Done` entry need not be synced: after a crash the effect would only be returned again.
        let must_sync = !answers.is_empty() && self.options.fsync == Fsync::Always;
        let written = self.write(entries, must_sync);
        crash_point("spool_before_answer");
        match &written {
            Ok(()) => {
                // A `Done` entry is short: that it could be written says little about the next effect.
                if !answers.is_empty() && std::mem::take(&mut self.is_failing) {
                    tracing::info!("the spool is writable again");
                }
                self.shared.metrics.kept.increment(answers.len() as u64);
                answers.into_iter().for_each(|(sequence, answer)| answer(Ok(sequence)));
                self.tidy_up();
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::error!(%error, "the spool cannot be written; it rejects effects until it can (logged once)");
                }
                answers.into_iter().for_each(|(_, answer)| self.reject(answer, error.clone()));
            }
        }
        self.update_gauges();
        written
    }

    fn write(&mut self, entries: Vec<Entry>, must_sync: bool) -> Result<(), SpoolError> {
        let segment = self.run_checked(|segments| segments.write(&entries))?;
        self.is_dirty = true;
        if must_sync && guard("spool_sync_first") {
            self.sync()?;
        } else {
            self.shared.dirty.notify_one();
        }
        let done = entries.iter().filter(|entry| matches!(entry, Entry::Done(_))).count();
        let mut live = self.shared.live.lock();
        entries.into_iter().for_each(|entry| live.apply(segment, entry));
        drop(live);
        if done > 0 {
            self.shared.metrics.done.increment(done as u64);
            self.shared.room.send_modify(|changes| *changes += 1);
        }
        self.shared.metrics.last_success.set(Duration::from_millis(self.shared.clock.unix_ms()).as_secs_f64());
        Ok(())
    }

    /// Starts a new segment when the active one is full (or contains nothing pending), and removes old ones. A failure is
    /// retried after the next write; no caller waits for it.
    fn tidy_up(&mut self) {
        let tidied = self.try_tidy_up();
        self.failing.log("tidy up", &tidied, |error, times| {
            tracing::warn!(%error, times, "old segments of the spool could not be removed; this is retried after each write");
        });
    }

    fn try_tidy_up(&mut self) -> Result<(), SpoolError> {
        let active = self.segments.active_bytes();
        let is_idle = self.shared.live.lock().count() == 0 && active > self.options.segment_bytes / 16;
        if active >= self.options.segment_bytes || is_idle {
            self.roll()?;
        }
        self.remove_unneeded()?;
        // Old pending effects keep the segments behind them from being removed, so they are copied to the end.
        let both = self.options.bytes_max.saturating_add(self.options.segment_bytes);
        let most = if guard("spool_sizes_saturate") { both.saturating_mul(2) } else { both * 2 };
        while self.segments.bytes() > most {
            let Some((_, copies)) = self.shared.live.lock().oldest() else { return Ok(()) };
            if self.segments.active_bytes() >= self.options.segment_bytes {
                self.roll()?;
            }
            if !copies.is_empty() {
                let segment = self.run_checked(|segments| segments.write(&copies))?;
                // The copies must be on the disk before the originals are removed.
                self.sync()?;
                crash_point("spool_copied");
                let mut live = self.shared.live.lock();
                copies.into_iter().for_each(|entry| live.apply(segment, entry));
            }
            self.remove_unneeded()?;
        }
        Ok(())
    }

    fn roll(&mut self) -> Result<(), SpoolError> {
        let next_sequence = self.shared.live.lock().next_sequence();
        let number = self.run_checked(|segments| segments.roll(next_sequence))?;
        self.is_dirty = false;
        self.shared.live.lock().begin(number, next_sequence);
        Ok(())
    }

    fn remove_unneeded(&mut self) -> Result<(), SpoolError> {
        loop {
            let Some(number) = self.shared.live.lock().unneeded() else { return Ok(()) };
            self.segments.remove(number)?;
            self.shared.live.lock().end(number);
        }
    }

    fn sync(&mut self) -> Result<(), SpoolError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.run_checked(Segments::sync)?;
        self.is_dirty = false;
        self.shared.metrics.syncs.increment(1);
        self.shared.figures.lock().syncs += 1;
        Ok(())
    }

    /// Runs an operation on the files, and accepts nothing more if their contents are unknown afterwards.
    fn run_checked<T>(&mut self, act: impl FnOnce(&mut Segments) -> Result<T, SpoolError>) -> Result<T, SpoolError> {
        let done = act(&mut self.segments);
        if let Err(error @ SpoolError::Broken { .. }) = &done {
            self.broken = Some(error.clone());
        }
        done
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn update_gauges(&self) {
        let live = self.shared.live.lock();
        self.shared.metrics.records.set(live.count() as f64);
        self.shared.metrics.bytes.set(self.segments.bytes() as f64);
        self.shared.figures.lock().file_bytes = self.segments.bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn concurrent_appends_share_one_sync() -> Result<(), SpoolError> {
        let folder = tempfile::tempdir().map_err(|error| SpoolError::Broken { reason: error.to_string() })?;
        let (segments, opened) = Segments::open(folder.path())?;
        let shared = Arc::new(Shared::new(opened.live, Clock::system()));
        let options = SpoolOptions::default().fsync(Fsync::Always);
        let writer = Writer::new(segments, Arc::clone(&shared), options);
        // All messages are queued before the writer, which runs on this thread, starts.
        let (messages, inbox) = unbounded_channel();
        let (reply, answers) = std::sync::mpsc::channel();
        for key in 0..100_u8 {
            let (reply, shared) = (reply.clone(), Arc::clone(&shared));
            let answer: Answer = Box::new(move |answered| _ = reply.send((answered, shared.figures.lock().syncs)));
            let _ = messages.send(Message::Append(PendingEffect::write("topic", vec![key], vec![0; 10]), answer));
        }
        drop((messages, reply));
        writer.run(inbox);
        let answers: Vec<_> = answers.into_iter().collect();
        assert!(answers.len() == 100 && answers.iter().all(|(answered, syncs)| answered.is_ok() && *syncs == 1));
        Ok(())
    }
}
