//! A session: from a start of the source to its next error.

use super::batch::Batch;
use super::rows::ToPark;
use super::{Held, Reader};
use crate::cdc::capture::GapPolicy;
use crate::cdc::error::CdcError;
use crate::cdc::source::{
    Anchor, Barrier, Checkpoint, Event, Gap, GapCause, Identity, Position, Source, SourceError, StartAt, Started,
};
use crate::sql::SqlError;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard};
use std::sync::Arc;
use std::time::Duration;

/// The pauses between two questions whether a group is visible.
const NOT_YET: Backoff = Backoff { delay_min: Duration::from_millis(5), delay_max: Duration::from_millis(250) };
/// The pause before a question is asked again that could not be asked.
const UNKNOWN: Duration = Duration::from_secs(1);
/// A checkpoint over changes without effects is saved at most so often.
const IDLE_SAVE: Duration = Duration::from_secs(60);

/// Why a session ended.
pub(super) enum Ended {
    /// Another process is the reader.
    Superseded,
    /// A server is away; the next session may succeed.
    Unavailable(String),
    /// A person must look at it. With the state to be recorded.
    Stopped(&'static str, Box<CdcError>),
}

impl From<SqlError> for Ended {
    fn from(error: SqlError) -> Self {
        match error {
            error @ SqlError::NotMigrated => Self::Stopped("refused", Box::new(error.into())),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<SourceError> for Ended {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Unavailable(text) => Self::Unavailable(text),
            SourceError::Gap(gap) => Self::Stopped("gap", Box::new(CdcError::Gap(gap))),
            error => Self::Stopped("refused", Box::new(CdcError::Source(error))),
        }
    }
}

impl From<CdcError> for Ended {
    fn from(error: CdcError) -> Self {
        match error {
            CdcError::Sql(error) => error.into(),
            error => Self::Stopped("refused", Box::new(error)),
        }
    }
}

/// One session.
pub(super) struct Session<'a> {
    reader: &'a Reader,
    held: &'a Held,
    identity: Identity,
    /// The gap after which this source streams, for operators.
    gap: Option<String>,
    saved_at: Moment,
    is_noted: bool,
    /// Whether an event was read.
    pub(super) has_progressed: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(reader: &'a Reader, held: &'a Held) -> Self {
        let (identity, saved_at) = (Identity(String::new()), reader.clock.now());
        Self { reader, held, identity, gap: None, saved_at, is_noted: false, has_progressed: false }
    }

    pub(super) async fn run(&mut self, source: &mut dyn Source) -> Ended {
        match self.stream(source).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }

    async fn stream(&mut self, source: &mut dyn Source) -> Result<std::convert::Infallible, Ended> {
        self.reader.look(self.held).await?;
        self.start(source).await?;
        let mut batch = Batch::new(self.reader.rules.len());
        loop {
            self.until_resumed().await;
            let events = source.next().await?;
            self.has_progressed = true;
            let mut is_idle = false;
            for event in events {
                is_idle |= matches!(event, Event::Idle { .. });
                self.take(&mut batch, event)?;
            }
            if batch.changes > 0 {
                self.reader.metrics.changes.increment(batch.changes);
                self.reader.metrics.pending.set(batch.changes as f64);
            }
            self.carry_out(source, &mut batch).await?;
            if is_idle {
                self.reader.metrics.lag.set(0.0);
                self.reader.clock.sleep(source.idle_pause()).await;
            }
        }
    }

    /// Starts the source at the checkpoint.
    async fn start(&mut self, source: &mut dyn Source) -> Result<(), Ended> {
        let row = self.reader.rows.read().await?.ok_or(Ended::Superseded)?;
        let (started, is_new) = match &row.checkpoint {
            None => (source.start(StartAt::End { epoch: 1 }).await?, true),
            Some(checkpoint) => match self.go_on(source, checkpoint).await {
                Ok(started) => (started, false),
                Err(SourceError::Gap(gap)) if self.reader.on_gap == GapPolicy::Continue => {
                    self.lose(&gap);
                    (source.start(StartAt::End { epoch: checkpoint.epoch + 1 }).await?, true)
                }
                Err(error) => return Err(error.into()),
            },
        };
        self.identity = started.identity.clone();
        if is_new {
            // Changes from here on are not missed, also if this process dies before the first of them.
            self.save(source, &started.position, &Anchor::default(), &[]).await?;
        }
        Ok(())
    }

    async fn go_on(&self, source: &mut dyn Source, checkpoint: &Checkpoint) -> Result<Started, SourceError> {
        let started = source.start(StartAt::Checkpoint(checkpoint.clone())).await?;
        let is_other = started.identity != checkpoint.identity && started.position.epoch == checkpoint.epoch;
        if is_other && guard("cdc_identity") {
            let detail =
                format!("the checkpoint is of {}, the source is {}", checkpoint.identity.0, started.identity.0);
            return Err(SourceError::Gap(Gap { cause: GapCause::OtherSource, detail }));
        }
        Ok(started)
    }

    /// Records a gap that the policy accepts.
    fn lose(&mut self, gap: &Gap) {
        self.reader.metrics.gaps.increment(1);
        tracing::error!(source = %self.reader.rows.name, %gap, "changes are missing in the log; caches may serve what they made old");
        self.gap = Some(gap.to_string());
    }

    fn take(&mut self, batch: &mut Batch, event: Event) -> Result<(), Ended> {
        match event {
            Event::Begin { position } => batch.begin(position),
            Event::Commit { position, anchor, at_ms } => batch.commit(position, anchor, at_ms),
            Event::Idle { .. } => {}
            Event::Change(change) => {
                if batch.add(&self.reader.rules, &change, self.held.claim.fence)? {
                    return Ok(());
                }
                let detail =
                    format!("rows of {} were changed that the log does not name (TRUNCATE, say)", change.table);
                let gap = Gap { cause: GapCause::Unnamed, detail };
                if self.reader.on_gap == GapPolicy::Stop {
                    return Err(Ended::Stopped("gap", Box::new(CdcError::Gap(gap))));
                }
                self.lose(&gap);
            }
        }
        Ok(())
    }

    /// Waits until the batch is visible, carries it out, and saves the checkpoint.
    async fn carry_out(&mut self, source: &mut dyn Source, batch: &mut Batch) -> Result<(), Ended> {
        let reader = self.reader;
        let mut park = Vec::new();
        batch.has_effects |= !batch.is_empty();
        if let Some(position) = batch.visible.take() {
            self.until_visible(source, &position).await?;
            let parked = Arc::clone(&self.held.parked.lock());
            for (rule, work) in reader.rules.iter().zip(&mut batch.work) {
                park.extend(reader.apply(rule, std::mem::take(work), &parked).await);
            }
            reader.metrics.pending.set(0.0);
            batch.changes = 0;
        }
        self.remember(&park);
        // Within a group there is no checkpoint: keys that it parked are saved at once, at the checkpoint before.
        let is_due = reader.clock.now().since(self.saved_at) >= IDLE_SAVE;
        if !park.is_empty() && batch.end.is_none() {
            return self.park_within_group(&park).await;
        }
        if (batch.has_effects || (batch.has_others && is_due))
            && let Some((position, anchor)) = batch.end.take()
        {
            if let Some(at) = batch.committed_at_ms.take() {
                let lag = reader.clock.unix_ms().saturating_sub(at);
                reader.metrics.lag.set(Duration::from_millis(lag).as_secs_f64());
            }
            (batch.has_effects, batch.has_others) = (false, false);
            self.save(source, &position, &anchor, &park).await?;
        }
        Ok(())
    }

    /// Saves parked keys of a group that has not ended.
    async fn park_within_group(&self, park: &[ToPark]) -> Result<(), Ended> {
        let row = self.reader.rows.read().await?;
        let Some(at) = row.and_then(|row| row.checkpoint) else { return Err(Ended::Superseded) };
        let position = Position { epoch: at.epoch, order: (0, 0), text: at.position };
        let saved = self.reader.rows.save(&self.held.claim, &at.identity, &position, &at.anchor, None, park).await?;
        if saved { Ok(()) } else { Err(Ended::Superseded) }
    }

    /// Later changes of these keys are skipped from now on.
    fn remember(&self, park: &[ToPark]) {
        if !park.is_empty() {
            let mut parked = self.held.parked.lock();
            Arc::make_mut(&mut parked).extend(park.iter().map(|key| (Arc::clone(&key.rule), key.key.clone())));
        }
    }

    async fn save(
        &mut self,
        source: &mut dyn Source,
        position: &Position,
        anchor: &Anchor,
        park: &[ToPark],
    ) -> Result<(), Ended> {
        let (reader, gap) = (self.reader, self.gap.as_deref());
        if !reader.rows.save(&self.held.claim, &self.identity, position, anchor, gap, park).await? {
            return Err(Ended::Superseded);
        }
        reader.metrics.saves.increment(1);
        (self.saved_at, self.is_noted) = (reader.clock.now(), false);
        source.confirm(position).await?;
        Ok(())
    }

    /// The visibility barrier: a log shows a commit before statements see it, and an entry that a reader fills in between would stay.
    async fn until_visible(&mut self, source: &mut dyn Source, position: &Position) -> Result<(), Ended> {
        let mut asked = 0;
        while guard("cdc_barrier") {
            let (pause, cause) = match source.barrier(position).await? {
                Barrier::Visible => break,
                Barrier::NotYet => (NOT_YET.delay(asked), "the last changes are not visible yet".to_owned()),
                Barrier::Unknown(text) => (UNKNOWN, text),
            };
            asked += 1;
            if !self.is_noted && (pause == UNKNOWN || asked > 20) {
                self.is_noted = true;
                self.reader.note(self.held, "waiting", Some(&cause)).await;
            }
            self.reader.clock.sleep(pause).await;
        }
        Ok(())
    }

    async fn until_resumed(&self) {
        // The sender is a field of `held`, so waiting cannot fail.
        let _ = self.held.is_paused.subscribe().wait_for(|paused| !paused).await;
    }
}
