//! Redrives dead letters: some or all, at a rate, and none twice by the same redrive.

use super::page::PageOf;
use super::{JobState, Rejection, Seen, Topic};
use bytes::Bytes;
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{ErrorClass, JobId, TIME_MS_MAX};
use evenkeel_protocol::queue::steps::{
    ITEMS_MAX, List, Listed, Preview, ReadPreviews, Redrive, RedriveVerdict, Shard, State,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// The field of the stored selection that says that jobs were named ([`TopicRedrive::only`]).
const ONLY: &str = "only";

/// Selects the dead letters of a redrive. A dead letter must match all set fields; the default matches all.
///
/// An unknown field is an error when a filter is deserialized: a program that ignored a field would redrive more than was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// The message of the last error contains this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_contains: Option<String>,
    /// The body contains these bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_contains: Option<String>,
    /// The last error was a crash of the worker (or, if false, a failure of the handler).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashed: Option<bool>,
    /// The job died at or after this time, in ms since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_from: Option<u64>,
    /// The job died at or before this time, in ms since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_until: Option<u64>,
}

impl Filter {
    /// Whether the filter depends on the time of death only, so that the jobs need not be read.
    fn is_by_time(&self) -> bool {
        self.error_contains.is_none() && self.body_contains.is_none() && self.crashed.is_none()
    }

    fn matches_time(&self, died_at: u64) -> bool {
        self.died_from.is_none_or(|from| died_at >= from) && self.died_until.is_none_or(|until| died_at <= until)
    }

    /// An unreadable dead letter matches only a filter that does not depend on its content.
    fn matches(&self, seen: &Seen) -> bool {
        let Ok(job) = &seen.job else { return self.is_by_time() };
        let last = job.error_notes().last();
        let contains_text = |text: &String| last.is_some_and(|error| contains(&error.text, text.as_bytes()));
        let crashed = last.is_some_and(|error| matches!(error.class, ErrorClass::Crashed | ErrorClass::LeaseExpired));
        self.matches_time(seen.score)
            && self.error_contains.as_ref().is_none_or(contains_text)
            && self.body_contains.as_ref().is_none_or(|part| contains(&job.spec.body, part.as_bytes()))
            && self.crashed.is_none_or(|requested| requested == crashed)
    }
}

fn position(listed: &Listed) -> (u64, JobId) {
    (listed.score, listed.id)
}

/// A page of a sorted list.
fn page_after(named: &[Listed], after: Option<Listed>, page: usize) -> Vec<Listed> {
    let read = after.map_or(0, |after| named.partition_point(|listed| position(listed) <= position(&after)));
    named[read..].iter().take(page).copied().collect()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

/// A redrive with its settings; see [`Topic::redrive`].
#[derive(Clone, Debug)]
#[must_use = "nothing is redriven until `run`"]
pub struct TopicRedrive {
    topic: Topic,
    id: [u8; 16],
    filter: Filter,
    ids: Option<HashSet<JobId>>,
    per_second: Option<u32>,
    limit: Option<u64>,
}

/// The result of a redrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedriveReport {
    /// The dead letters that this call has redriven.
    pub taken: u64,
    /// The dead letters that all calls of this redrive have redriven.
    pub taken_in_all: u64,
    /// The dead letters that this call has checked.
    pub seen: u64,
    /// The dead letters skipped because this redrive had redriven them before and they died again.
    pub taken_before: u64,
    /// The dead letters skipped because they died after the redrive began.
    pub died_later: u64,
    /// The cutoff, when the redrive began, in ms since 1970 (the earliest of the shards): jobs that died later are not redriven.
    pub began_at: u64,
    /// The filter in use: that of the first call; those of later calls are ignored.
    pub filter: Filter,
}

/// The dead letters that a redrive would redrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryRun {
    /// The number of matching dead letters.
    pub matching: u64,
    /// The number of all dead letters.
    pub dead: u64,
    /// The first matching ones, by time of death; at most ten.
    pub first: Vec<JobId>,
    /// The first shard that Redis rejects. Its dead letters are not counted; those of all others are.
    pub rejected: Vec<Rejection<QueueError>>,
}

impl Topic {
    /// Makes dead letters waiting jobs again, with all their attempts and with their history kept.
    ///
    /// The `name` makes the redrive idempotent: the first call with a name fixes the cutoff and the filter; a call with the same name
    /// continues where the earlier one stopped, and redrives no dead letter twice, even if it has died again. A name is kept for a week
    /// after its last call. A shard that Redis rejects stops no other; the first call that it accepts fixes its cutoff.
    pub fn redrive(&self, name: &str) -> TopicRedrive {
        let JobId(id) = JobId::named(format!("redrive {name}").as_bytes());
        TopicRedrive { topic: self.clone(), id, filter: Filter::default(), ids: None, per_second: None, limit: None }
    }
}

impl TopicRedrive {
    setters! {
        /// Redrives only matching dead letters.
        pub fn filter(filter: Filter) => filter = filter;

        /// Redrives only these jobs. That jobs were named is stored with the filter: a call with the same name and without `only` fails,
        /// instead of redriving every matching dead letter.
        pub fn only(ids: impl IntoIterator<Item = JobId>) => ids = Some(ids.into_iter().collect());

        /// The number of redriven jobs that become due per second, at least 1; later ones get a delay. Default: all are due at once.
        pub fn per_second(letters: u32) => per_second = Some(letters);

        /// Stops after this number of dead letters; a call with the same name continues with the next ones.
        pub fn limit(letters: u64) => limit = Some(letters);
    }

    /// Counts the dead letters that [`run`](Self::run) would redrive now; changes nothing. A shard that Redis rejects stops no other, see
    /// [`DryRun::rejected`].
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]: Redis or the database is unavailable.
    pub async fn dry_run(&self) -> Result<DryRun, QueueError> {
        let (mut found, mut tried) = (DryRun::default(), Tried::unless(QueueError::is_retryable));
        let mut page = PageOf { state: JobState::Dead, from: None, limit: ITEMS_MAX, descends: false };
        loop {
            let listed = self.topic.listed(page, &mut tried).await?;
            let Some(last) = listed.last() else {
                let part = || format!("a shard of {}", self.topic.name);
                found.rejected.extend(tried.finish().err().map(|error| Rejection { part: part(), error }));
                return Ok(found);
            };
            page.from = Some(*last);
            found.dead += u64::try_from(listed.len()).unwrap_or(0);
            for id in self.matching(&self.filter, &listed, &mut tried).await? {
                found.matching += 1;
                if found.first.len() < 10 {
                    found.first.push(id);
                }
            }
        }
    }

    /// Runs the redrive.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]: some dead letters were redriven; a call with the same name continues. An error of one
    /// shard stops no other. [`QueueError::NeedsDatabase`]: none was redriven. [`QueueError::Invalid`]: [`per_second`](Self::per_second) is 0,
    /// or the redrive of this name has a filter that this program does not know, or began with named jobs ([`only`](Self::only)) and this call
    /// names none; none was redriven.
    pub async fn run(&self) -> Result<RedriveReport, QueueError> {
        self.run_with(|_| {}).await
    }

    /// Like [`run`](Self::run); calls `progress` after every page.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_with(&self, mut progress: impl FnMut(&RedriveReport) + Send) -> Result<RedriveReport, QueueError> {
        if self.per_second == Some(0) {
            return Err(QueueError::Invalid(
                "`per_second` must be at least 1, or nothing would be redriven".to_owned(),
            ));
        }
        self.topic.check_rows()?;
        // A shard that Redis rejects stops no other. The stored filter concerns all: if this program cannot use it, nothing is redriven.
        let mut tried =
            Tried::unless(|error: &QueueError| error.is_retryable() || matches!(error, QueueError::Invalid(_)));
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.topic.rows {
            // Dead letters that the store has lost are redriven, too.
            tried.note(rows.restore_dead().await)?;
        }
        let mut report = RedriveReport { began_at: TIME_MS_MAX, ..RedriveReport::default() };
        let mut begun = Vec::new();
        // Every shard fixes its cutoff before the first dead letter is redriven.
        for shard in self.topic.router.look().await?.iter() {
            let Some((cutoff, filter, taken)) = tried.note(self.begin(shard).await)? else { continue };
            report.taken_in_all += taken;
            // The filter of the first call: a shard that had rejected it, or is new, has that of a later one.
            if cutoff < report.began_at {
                (report.began_at, report.filter) = (cutoff, filter);
            }
            begun.push((shard.clone(), cutoff));
        }
        for (shard, cutoff) in begun {
            let ran = self.run_shard(&shard, cutoff, &mut report, &mut progress, &mut tried).await;
            tried.note(ran)?;
        }
        tried.finish().map(|()| report)
    }

    async fn begin(&self, shard: &Shard) -> Result<(u64, Filter, u64), QueueError> {
        let call = Redrive { redrive: self.id, filter: self.stored()?, ids: Vec::new(), delay_ms: 0 };
        let begun = self.topic.store.run(shard, &call).await?;
        let refused = |why: String| {
            QueueError::Invalid(format!(
                "topic {}: a redrive of this name began with {why}; nothing was redriven. Continue it as it began, or choose another name",
                self.topic.name
            ))
        };
        let unknown = |error: serde_json::Error| refused(format!("a filter that this program does not know ({error})"));
        let mut stored: Value = serde_json::from_slice(&begun.filter).map_err(unknown)?;
        let named = stored.as_object_mut().and_then(|fields| fields.remove(ONLY));
        if named.is_some() && self.ids.is_none() && guard("queue_redrive_named_jobs") {
            return Err(refused("named jobs, and this call names none".to_owned()));
        }
        Ok((begun.cutoff, serde_json::from_value(stored).map_err(unknown)?, begun.taken))
    }

    /// The selection as the store keeps it: the filter, and whether jobs were named. A program that does not know that field refuses it, as it
    /// does every unknown one.
    fn stored(&self) -> Result<Bytes, QueueError> {
        let invalid = |error: serde_json::Error| QueueError::Invalid(error.to_string());
        let mut stored = serde_json::to_value(&self.filter).map_err(invalid)?;
        if let (Some(fields), Some(_)) = (stored.as_object_mut(), &self.ids) {
            fields.insert(ONLY.to_owned(), Value::Bool(true));
        }
        Ok(serde_json::to_vec(&stored).map_err(invalid)?.into())
    }

    async fn run_shard(
        &self,
        shard: &Shard,
        cutoff: u64,
        report: &mut RedriveReport,
        progress: &mut (impl FnMut(&RedriveReport) + Send),
        tried: &mut Tried<QueueError>,
    ) -> Result<(), QueueError> {
        let named = self.named(shard).await?;
        let mut after = None;
        loop {
            let room = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(report.taken));
            let page = self.per_second.map_or(ITEMS_MAX, |rate| usize::try_from(rate).unwrap_or(ITEMS_MAX));
            let page = page.min(ITEMS_MAX).min(usize::try_from(room).unwrap_or(ITEMS_MAX));
            if page == 0 {
                return Ok(());
            }
            let listed = match &named {
                Some(named) => page_after(named, after, page),
                None => {
                    let list = List { after, ..List::first(State::Dead, page) };
                    self.topic.store.run(shard, &list).await?
                }
            };
            let Some(last) = listed.last() else { return Ok(()) };
            after = Some(*last);
            report.seen += u64::try_from(listed.len()).unwrap_or(0);
            let ids = self.matching(&report.filter, &listed, tried).await?;
            if !ids.is_empty() {
                let timely = listed.iter().filter(|listed| listed.score <= cutoff).map(|listed| listed.id).collect();
                self.send_back(shard, ids, &timely, report).await?;
            }
            progress(report);
            if last.score > cutoff {
                return Ok(());
            }
        }
    }

    /// The named dead letters of a shard, by time of death: reading them instead of all dead letters makes a redrive of a few letters among
    /// many cheap. The time of death of an unreadable one is unknown and given as 0.
    async fn named(&self, shard: &Shard) -> Result<Option<Vec<Listed>>, QueueError> {
        let Some(ids) = &self.ids else { return Ok(None) };
        let ids: Vec<JobId> = ids.iter().copied().collect();
        let mut named = Vec::new();
        for ids in ids.chunks(ITEMS_MAX) {
            let previews = self.topic.store.run(shard, &ReadPreviews { ids: ids.to_vec(), bytes: 1 }).await?;
            named.extend(ids.iter().zip(previews).filter_map(|(id, preview)| match preview {
                Some(Preview::Live { state: State::Dead, score, .. }) => Some(Listed { score, id: *id }),
                Some(Preview::Unreadable(_)) => Some(Listed { score: 0, id: *id }),
                _ => None,
            }));
        }
        named.sort_unstable_by_key(position);
        Ok(Some(named))
    }

    /// Redrives these dead letters. `timely` are those that died before the cutoff; the store returns the verdicts of the others.
    async fn send_back(
        &self,
        shard: &Shard,
        ids: Vec<JobId>,
        timely: &HashSet<JobId>,
        report: &mut RedriveReport,
    ) -> Result<(), QueueError> {
        let delay_ms = self.per_second.map_or(0, |rate| report.taken * 1_000 / u64::from(rate));
        #[cfg(feature = "sql")]
        let ids = match &self.topic.rows {
            Some(rows) => rows.redrivable(ids, timely, delay_ms).await?,
            None => ids,
        };
        let call = Redrive { redrive: self.id, filter: Bytes::new(), ids, delay_ms };
        let verdicts = self.topic.store.run(shard, &call).await?.verdicts;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.topic.rows {
            let left = call.ids.iter().zip(&verdicts).filter(|(id, verdict)| {
                timely.contains(id) && matches!(verdict, RedriveVerdict::TakenBefore | RedriveVerdict::DiedLater)
            });
            rows.mark_dead_as_in_store(&left.map(|(id, _)| *id).collect::<Vec<_>>()).await?;
        }
        #[cfg(not(feature = "sql"))]
        let _ = timely;
        for verdict in verdicts {
            match verdict {
                RedriveVerdict::Taken => {
                    report.taken += 1;
                    report.taken_in_all += 1;
                }
                RedriveVerdict::TakenBefore => report.taken_before += 1,
                RedriveVerdict::DiedLater => report.died_later += 1,
                RedriveVerdict::NotDead => {}
            }
        }
        Ok(())
    }

    /// The dead letters of a page that match the filter; those whose shard or row is rejected are not among them.
    async fn matching(
        &self,
        filter: &Filter,
        listed: &[Listed],
        tried: &mut Tried<QueueError>,
    ) -> Result<Vec<JobId>, QueueError> {
        let requested = |id: JobId| self.ids.as_ref().is_none_or(|ids| ids.contains(&id));
        let timely: Vec<Listed> =
            listed.iter().copied().filter(|listed| filter.matches_time(listed.score) && requested(listed.id)).collect();
        if filter.is_by_time() {
            return Ok(timely.into_iter().map(|listed| listed.id).collect());
        }
        let seen = self.topic.seen(JobState::Dead, &timely, tried).await?;
        Ok(seen.iter().filter(|seen| filter.matches(seen)).map(|seen| seen.id).collect())
    }
}
