//! Sending dead letters back: some or all, at a rate, and never twice by the same redrive.

use super::{Place, Seen, Topic};
use bytes::Bytes;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{ErrorClass, JobId, TIME_MS_MAX};
use evenkeel_protocol::queue::steps::{ITEMS_MAX, Listed, Redrive, RedriveVerdict, Shard};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Which dead letters a redrive takes. Everything that is said must hold; the default takes all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// The last error's text contains this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_contains: Option<String>,
    /// The body contains these bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_contains: Option<String>,
    /// It ended with a crash of its worker (or, if false, with an answer of its handler).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashed: Option<bool>,
    /// It died at or after this time, in ms since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_from: Option<u64>,
    /// It died at or before this time, in ms since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died_until: Option<u64>,
}

impl Filter {
    /// Whether it can be judged by the time of death alone, without reading the jobs.
    fn is_by_time(&self) -> bool {
        self.error_contains.is_none() && self.body_contains.is_none() && self.crashed.is_none()
    }

    fn takes_time(&self, died_at: u64) -> bool {
        self.died_from.is_none_or(|from| died_at >= from) && self.died_until.is_none_or(|until| died_at <= until)
    }

    /// A letter that cannot be read is taken only by a filter that asks nothing of its content.
    fn takes(&self, seen: &Seen) -> bool {
        let Ok(job) = &seen.job else { return self.is_by_time() };
        let last = job.error_notes().last();
        let said = |words: &String| last.is_some_and(|error| contains(&error.text, words.as_bytes()));
        let crashed = last.is_some_and(|error| matches!(error.class, ErrorClass::Crashed | ErrorClass::Lapsed));
        self.takes_time(seen.score)
            && self.error_contains.as_ref().is_none_or(said)
            && self.body_contains.as_ref().is_none_or(|words| contains(&job.spec.body, words.as_bytes()))
            && self.crashed.is_none_or(|wanted| wanted == crashed)
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    words.is_empty() || text.windows(words.len()).any(|part| part == words)
}

/// A redrive to be run; see [`Topic::redrive`].
#[derive(Clone, Debug)]
#[must_use = "nothing is sent back until `run`"]
pub struct TopicRedrive {
    topic: Topic,
    id: [u8; 16],
    filter: Filter,
    ids: Option<Vec<JobId>>,
    per_second: Option<u32>,
    limit: Option<u64>,
}

/// How far a redrive has come, and what it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedriveReport {
    /// Sent back by this call.
    pub taken: u64,
    /// Sent back by all calls of this redrive.
    pub taken_in_all: u64,
    /// Looked at by this call.
    pub seen: u64,
    /// Left alone because this redrive had taken them before: they died again.
    pub taken_before: u64,
    /// Left alone because they died after the redrive began.
    pub died_later: u64,
    /// When it began, in ms since 1970 (the earliest of the shards): what died later is not taken.
    pub began_at: u64,
    /// The filter it goes by: that of its first call, whatever later ones say.
    pub filter: Filter,
}

/// What a redrive would take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryRun {
    /// How many.
    pub matching: u64,
    /// Of how many dead letters.
    pub dead: u64,
    /// The first of them, by time of death; at most ten.
    pub first: Vec<JobId>,
}

impl Topic {
    /// Sends dead letters back to wait, with all their attempts again and their history kept.
    ///
    /// The `name` makes it repeatable: the first call with it fixes which letters are meant (dead by now, matching the filter);
    /// a call with the same name goes on where the earlier one stopped, and takes no letter twice, even if it has died again.
    /// It is remembered for a week after its last call.
    pub fn redrive(&self, name: &str) -> TopicRedrive {
        let JobId(id) = JobId::named(format!("redrive {name}").as_bytes());
        TopicRedrive { topic: self.clone(), id, filter: Filter::default(), ids: None, per_second: None, limit: None }
    }
}

impl TopicRedrive {
    /// Takes only what matches.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Takes only these.
    pub fn only(mut self, ids: impl IntoIterator<Item = JobId>) -> Self {
        self.ids = Some(ids.into_iter().collect());
        self
    }

    /// Lets at most so many become due in a second: the rest is sent back with a delay. Default: all at once.
    pub fn per_second(mut self, letters: u32) -> Self {
        self.per_second = Some(letters.max(1));
        self
    }

    /// Stops after so many; a call with the same name takes the next ones.
    pub fn limit(mut self, letters: u64) -> Self {
        self.limit = Some(letters);
        self
    }

    /// What [`run`](Self::run) would take now, of all dead letters; changes nothing.
    ///
    /// # Errors
    /// [`QueueError::Link`].
    pub async fn dry_run(&self) -> Result<DryRun, QueueError> {
        let mut found = DryRun::default();
        let mut after = None;
        loop {
            let listed = self.topic.list(Place::Dead, after, ITEMS_MAX).await?;
            let Some(last) = listed.last() else { return Ok(found) };
            after = Some(*last);
            found.dead += u64::try_from(listed.len()).unwrap_or(0);
            for id in self.matching(&self.filter, &listed).await? {
                found.matching += 1;
                if found.first.len() < 10 {
                    found.first.push(id);
                }
            }
        }
    }

    /// Sends them back.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]: some were sent back; a call with the same name goes on.
    /// [`QueueError::NeedsDatabase`]: none was.
    pub async fn run(&self) -> Result<RedriveReport, QueueError> {
        self.run_with(|_| {}).await
    }

    /// Like [`run`](Self::run); `progress` is told after every page.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_with(&self, mut progress: impl FnMut(&RedriveReport) + Send) -> Result<RedriveReport, QueueError> {
        self.topic.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(judge) = &self.topic.judge {
            // What the store has lost is to be sent back, too.
            judge.restore_dead().await?;
        }
        let mut report = RedriveReport { began_at: TIME_MS_MAX, ..RedriveReport::default() };
        let mut begun = Vec::new();
        // Every shard fixes its cutoff before the first letter goes back.
        for shard in self.topic.router.look().await?.iter() {
            let (cutoff, filter, taken) = self.begin(shard).await?;
            report.began_at = report.began_at.min(cutoff);
            report.taken_in_all += taken;
            report.filter = filter;
            begun.push((shard.clone(), cutoff));
        }
        for (shard, cutoff) in begun {
            self.run_shard(&shard, cutoff, &mut report, &mut progress).await?;
        }
        Ok(report)
    }

    async fn begin(&self, shard: &Shard) -> Result<(u64, Filter, u64), QueueError> {
        let filter = serde_json::to_vec(&self.filter).map_err(|error| QueueError::Invalid(error.to_string()))?;
        let call = Redrive { redrive: self.id, filter: filter.into(), ids: Vec::new(), delay_ms: 0 };
        let begun = self.topic.store.redrive(shard, &call).await?;
        let filter = serde_json::from_slice(&begun.filter).map_err(|_| {
            QueueError::Invalid(
                "a redrive of this name was begun by a program with other filters; choose another name".into(),
            )
        })?;
        Ok((begun.cutoff, filter, begun.taken))
    }

    async fn run_shard(
        &self,
        shard: &Shard,
        cutoff: u64,
        report: &mut RedriveReport,
        progress: &mut (impl FnMut(&RedriveReport) + Send),
    ) -> Result<(), QueueError> {
        let mut after = None;
        loop {
            let room = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(report.taken));
            let page = self.per_second.map_or(ITEMS_MAX, |rate| usize::try_from(rate).unwrap_or(ITEMS_MAX));
            let page = page.min(ITEMS_MAX).min(usize::try_from(room).unwrap_or(ITEMS_MAX));
            if page == 0 {
                return Ok(());
            }
            let listed =
                self.topic.store.list(shard, evenkeel_protocol::queue::steps::State::Dead, after, page).await?;
            let Some(last) = listed.last() else { return Ok(()) };
            after = Some(*last);
            report.seen += u64::try_from(listed.len()).unwrap_or(0);
            let ids = self.matching(&report.filter, &listed).await?;
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

    /// Of these, the timely ones died before the cutoff; the store says of the others what they are.
    async fn send_back(
        &self,
        shard: &Shard,
        ids: Vec<JobId>,
        timely: &HashSet<JobId>,
        report: &mut RedriveReport,
    ) -> Result<(), QueueError> {
        let delay_ms = self.per_second.map_or(0, |rate| report.taken * 1_000 / u64::from(rate));
        #[cfg(feature = "sql")]
        let ids = match &self.topic.judge {
            Some(judge) => judge.redrivable(ids, timely, delay_ms).await?,
            None => ids,
        };
        let call = Redrive { redrive: self.id, filter: Bytes::new(), ids, delay_ms };
        let verdicts = self.topic.store.redrive(shard, &call).await?.verdicts;
        #[cfg(feature = "sql")]
        if let Some(judge) = &self.topic.judge {
            let left = call.ids.iter().zip(&verdicts).filter(|(id, verdict)| {
                timely.contains(id) && matches!(verdict, RedriveVerdict::TakenBefore | RedriveVerdict::DiedLater)
            });
            judge.bury_as_in_store(&left.map(|(id, _)| *id).collect::<Vec<_>>()).await?;
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

    /// Those of a page that the filter takes.
    async fn matching(&self, filter: &Filter, listed: &[Listed]) -> Result<Vec<JobId>, QueueError> {
        let wanted = |id: JobId| self.ids.as_ref().is_none_or(|ids| ids.contains(&id));
        let timely: Vec<Listed> =
            listed.iter().copied().filter(|listed| filter.takes_time(listed.score) && wanted(listed.id)).collect();
        if filter.is_by_time() {
            return Ok(timely.into_iter().map(|listed| listed.id).collect());
        }
        let seen = self.topic.seen(Place::Dead, &timely).await?;
        Ok(seen.iter().filter(|seen| filter.takes(seen)).map(|seen| seen.id).collect())
    }
}
