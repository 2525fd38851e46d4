//! Operators and programs agree: each operation of `Topic`, for each durability, before and after Redis has lost everything.
//!
//! One file, although it is long: the operations are one list, which each durability runs through as a whole.

use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::queue::topic::{Amended, JobState as Among, NewTopicJob, Preview, Previewed, Topic, Why};
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError};
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Enqueued, Found, Limits, Rescheduled, Revoked, State, When};
use std::convert::Infallible;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

on_each_database! {
    operators_and_programs_agree_on_jobs_in_memory
    operators_and_programs_agree_on_jobs_with_rows
    operators_and_programs_agree_on_jobs_beyond_the_horizon
    operators_and_programs_agree_on_pauses
    operators_and_programs_agree_on_limits
    operators_and_programs_agree_on_shards
    page_of_rows_and_store_is_complete_and_ordered
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY_MS: u64 = 86_400_000;

/// The store of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Redis,
    Rows,
    RowsAlone,
}

/// What an operator does to a job that waits, or to a dead letter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Nothing,
    Revoke,
    Move,
    Edit,
    RunNow,
    Purge,
    Add,
    DeleteDead,
    PurgeDead,
    Redrive,
    Amend,
}

/// What has become of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The job waits with this body, for about this many hours.
    Waits(u64, String),
    /// The job is a dead letter with this body.
    Dead(String),
    Ended(Option<End>),
    Unknown,
}

pub(super) const ON_WAITING: [Act; 7] =
    [Act::Nothing, Act::Revoke, Act::Move, Act::Edit, Act::RunNow, Act::Purge, Act::Add];
pub(super) const ON_DEAD: [Act; 4] = [Act::DeleteDead, Act::PurgeDead, Act::Redrive, Act::Amend];

pub(super) struct Desk {
    /// `None`: the store is embedded.
    pub(super) redis: Option<Redis>,
    pub(super) queue: Queue<u32>,
    pub(super) topic: Topic,
    pub(super) kept: Kept,
}

impl Desk {
    async fn open<DB: Tested>(place: &TestDatabase<DB>, kept: Kept) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let (program, operator) =
            (Keel::connect(&redis.url()).await.unwrap(), Keel::connect(&redis.url()).await.unwrap());
        let builder = program.queue("agreed").retries(0);
        let builder = match kept {
            Kept::Redis => builder,
            Kept::Rows => builder.sql(&place.pool),
            Kept::RowsAlone => builder.sql(&place.pool).horizon(HOUR),
        };
        let queue = builder.open().await.unwrap();
        let topic = operator.topic("agreed").await.unwrap().sql(&place.pool);
        Self { redis: Some(redis), queue, topic, kept }
    }

    /// Five hours from now.
    pub(super) async fn waiting(&self) -> JobId {
        self.queue.delay(5 * HOUR, &1).await.unwrap()
    }

    pub(super) async fn dead(&self) -> JobId {
        let id = self.queue.now(&1).await.unwrap();
        let consumer =
            self.queue.consume(|_: Delivery<u32>| async { Ok::<_, Infallible>(Handled::Dead("no use".into())) });
        let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
        let (steps, shard) = self.queue.steps(&id);
        while !matches!(steps.job(&shard, id).await.unwrap(), Some(Found::Live { state: State::Dead, .. })) {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
        id
    }

    async fn flush(&self) {
        let Some(redis) = &self.redis else { panic!("an embedded store is lost with its process") };
        redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    }

    /// Executes the operation, and returns the expected state of the job if Redis loses nothing.
    pub(super) async fn act(&self, act: Act, id: JobId) -> Fate {
        let topic = &self.topic;
        let waits = |hours, body: &str| Fate::Waits(hours, body.to_owned());
        match act {
            Act::Nothing => waits(5, "1"),
            Act::Revoke => {
                assert_eq!(topic.revoke(&[id]).await.unwrap(), [Revoked::Revoked]);
                Fate::Ended(Some(End::Revoked))
            }
            Act::Move => {
                assert_eq!(topic.reschedule(id, When::In(DAY_MS)).await.unwrap(), Rescheduled::Changed);
                waits(24, "1")
            }
            Act::Edit => {
                assert_eq!(topic.edit(id, "2".into()).await.unwrap(), Rescheduled::Changed);
                waits(5, "2")
            }
            Act::RunNow => {
                assert_eq!(topic.run_now(&[id]).await.unwrap(), [Rescheduled::Changed]);
                waits(0, "1")
            }
            Act::Purge => {
                assert_eq!(topic.purge(Among::Waiting, "agreed").await.unwrap(), 1);
                Fate::Ended(None)
            }
            Act::Add => {
                let new = NewTopicJob {
                    body: "3".into(),
                    when: When::In(2 * 3_600_000),
                    name: None,
                    unique: None,
                    priority: Default::default(),
                    retries: None,
                };
                let (added, _) = topic.add(new).await.unwrap();
                assert_eq!(self.agreed(added).await, waits(2, "3"));
                assert_eq!(topic.revoke(&[added]).await.unwrap(), [Revoked::Revoked]);
                waits(5, "1")
            }
            Act::DeleteDead => {
                assert_eq!(topic.delete_dead(&[id]).await.unwrap(), [true]);
                Fate::Ended(None)
            }
            Act::PurgeDead => {
                assert_eq!(topic.purge(Among::Dead, "agreed").await.unwrap(), 1);
                Fate::Ended(None)
            }
            Act::Redrive => {
                assert_eq!(topic.redrive(&id.to_string()).run().await.unwrap().taken, 1);
                waits(0, "1")
            }
            Act::Amend => {
                assert_eq!(topic.amend(id, "9".into(), "2".into()).await.unwrap(), Amended::Other);
                for _ in 0..2 {
                    assert_eq!(topic.amend(id, "1".into(), "2".into()).await.unwrap(), Amended::Changed);
                }
                let typed = self.queue.amend(&id, &"1".into(), &3).await.unwrap();
                assert_eq!(typed, Amended::Other, "of another operator, who has seen the earlier body");
                Fate::Dead("2".to_owned())
            }
        }
    }

    /// The state of the job, which the program's and the operator's lists and statistics report alike.
    pub(super) async fn agreed(&self, id: JobId) -> Fate {
        let (program, operator) = (self.queue.find(&id).await.unwrap(), self.topic.job(id).await.unwrap());
        assert_eq!(without_enqueued_at(program), without_enqueued_at(operator.clone()));
        let fate = match operator {
            Some(Found::Live { state: State::Waiting(_), score, job }) => {
                let hours = (score.saturating_sub(self.topic.now_ms()) + 1_800_000) / 3_600_000;
                Fate::Waits(hours, String::from_utf8(job.spec.body.to_vec()).unwrap())
            }
            Some(Found::Live { state: State::Dead, job, .. }) => {
                Fate::Dead(String::from_utf8(job.spec.body.to_vec()).unwrap())
            }
            Some(Found::Ended(completion)) => Fate::Ended(Some(completion.end)),
            None => Fate::Unknown,
            other => panic!("{other:?}"),
        };
        for topic in [&self.topic, &self.queue.topic()] {
            let page = topic.peek(Among::Waiting, None, 10).await.unwrap();
            let is_listed = page.jobs.iter().any(|seen| seen.id == id);
            assert_eq!(is_listed, matches!(fate, Fate::Waits(..)), "{fate:?} in {page:?}");
            let dead = topic.previews(Among::Dead, None, 10).await.unwrap().jobs;
            let stats = topic.stats().await.unwrap();
            let count = stats.rows.unwrap_or(stats.total.waiting() + stats.total.dead);
            assert_eq!(count, (page.jobs.len() + dead.len()) as u64);
            self.has_reason(topic, id, &fate).await;
            self.is_previewed(topic, id, &fate, dead).await;
        }
        fate
    }

    /// The reason agrees with the state.
    async fn has_reason(&self, topic: &Topic, id: JobId, fate: &Fate) {
        let why = topic.why(id).await.unwrap();
        let agrees = match fate {
            Fate::Waits(0, _) => {
                matches!(why, Why::NoConsumer | Why::NotRestored { .. } | Why::Next | Why::NotDue { .. })
            }
            Fate::Waits(..) => matches!(why, Why::NotDue { .. } | Why::InSql { .. } | Why::NotRestored { .. }),
            Fate::Dead(_) => matches!(&why, Why::Dead { error, .. } if error == "no use"),
            Fate::Ended(end) => matches!(why, Why::Ended { end: held, .. } if end.is_none_or(|end| end == held)),
            Fate::Unknown => why == Why::Unknown,
        };
        assert!(agrees, "{fate:?}: {why:?}");
    }

    /// The previews have the same body.
    async fn is_previewed(&self, topic: &Topic, id: JobId, fate: &Fate, mut previews: Vec<Previewed>) {
        previews.extend(topic.previews(Among::Waiting, None, 10).await.unwrap().jobs);
        let found = previews.into_iter().find(|seen| seen.listed.id == id).map(|seen| seen.preview);
        match (fate, found) {
            (Fate::Waits(_, body) | Fate::Dead(body), Some(Preview::Live { job, body_bytes, .. })) => {
                assert_eq!((&job.spec.body[..], body_bytes), (body.as_bytes(), body.len() as u64));
            }
            (Fate::Ended(_) | Fate::Unknown, None) => {}
            (fate, found) => panic!("{fate:?}: {found:?}"),
        }
    }

    /// One case: the operator's change persists, and both sides report it.
    async fn plays(&self, act: Act, id: JobId, is_flushed: bool) {
        let reported = self.act(act, id).await;
        let is_lost = is_flushed && self.kept == Kept::Redis;
        let holds = |fate: &Fate| match &reported {
            _ if is_lost => *fate == Fate::Unknown,
            Fate::Ended(None) => matches!(fate, Fate::Ended(_) | Fate::Unknown),
            reported => fate == reported,
        };
        let story = format!("{act:?} {:?}, flushed: {is_flushed}", self.kept);
        let fate = self.agreed(id).await;
        assert!(is_lost || holds(&fate), "{story}: {fate:?} at once");
        if is_flushed {
            self.flush().await;
            let fate = self.agreed(id).await;
            assert!(holds(&fate), "{story}: {fate:?} after the flush");
        }
        if self.kept != Kept::Redis {
            self.queue.sweep_once().await.unwrap();
        }
        let fate = self.agreed(id).await;
        assert!(holds(&fate), "{story}: {fate:?} at last");
        self.topic.purge(Among::Waiting, "agreed").await.unwrap();
        self.topic.purge(Among::Dead, "agreed").await.unwrap();
    }
}

async fn agree<DB: Tested>(place: TestDatabase<DB>, kept: Kept) {
    let desk = Desk::open(&place, kept).await;
    for is_flushed in [false, true] {
        for act in ON_WAITING {
            let id = desk.waiting().await;
            desk.plays(act, id, is_flushed).await;
        }
        for act in ON_DEAD {
            let id = desk.dead().await;
            desk.plays(act, id, is_flushed).await;
        }
    }
}

async fn operators_and_programs_agree_on_jobs_in_memory<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::Redis).await;
}

async fn operators_and_programs_agree_on_jobs_with_rows<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::Rows).await;
}

async fn operators_and_programs_agree_on_jobs_beyond_the_horizon<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::RowsAlone).await;
}

/// Each durability, and whether Redis loses everything after the operator got the result.
fn all_cases() -> impl Iterator<Item = (Kept, bool)> {
    [Kept::Redis, Kept::Rows, Kept::RowsAlone].into_iter().flat_map(|kept| [(kept, false), (kept, true)])
}

impl Desk {
    /// After a loss the topic is registered again once a program polls, and the rows have been compared.
    async fn then(&self, is_flushed: bool) {
        if is_flushed {
            self.flush().await;
        }
        self.queue.sweep_once().await.unwrap();
    }

    async fn both_say(&self, is_paused: bool, story: &str) {
        for topic in [&self.topic, &self.queue.topic()] {
            assert_eq!(topic.stats().await.unwrap().is_paused(), is_paused, "{story}");
        }
    }
}

async fn operators_and_programs_agree_on_pauses<DB: Tested>(place: TestDatabase<DB>) {
    for (kept, is_flushed) in all_cases() {
        let story = format!("{kept:?}, flushed: {is_flushed}");
        let desk = Desk::open(&place, kept).await;
        let lasts = kept != Kept::Redis || !is_flushed;
        let until = desk.topic.now_ms() + DAY_MS;
        for pause in [None, Some(until)] {
            desk.topic.pause(pause).await.unwrap();
            desk.both_say(true, &story).await;
            desk.then(is_flushed).await;
            desk.both_say(lasts, &story).await;
            let until = desk.topic.stats().await.unwrap().total.paused_until;
            assert_eq!(until, lasts.then_some(pause.unwrap_or(u64::MAX)), "{story}");
        }
        desk.topic.resume().await.unwrap();
        desk.both_say(false, &story).await;
        desk.then(is_flushed).await;
        desk.both_say(false, &story).await;
        desk.dead().await;
        desk.topic.purge(Among::Dead, "agreed").await.unwrap();
    }
}

/// Limits count what Redis keeps. They do not count rows, and the operator gets that error.
async fn operators_and_programs_agree_on_limits<DB: Tested>(place: TestDatabase<DB>) {
    let limits = Limits { jobs_max: Some(4), bytes_max: None };
    for (kept, is_flushed) in all_cases() {
        let story = format!("{kept:?}, flushed: {is_flushed}");
        let desk = Desk::open(&place, kept).await;
        let set = desk.topic.set_limits(limits).await;
        if kept == Kept::Redis {
            set.unwrap();
        } else {
            let refused = set.unwrap_err();
            assert!(matches!(refused, QueueError::Invalid(_)), "{story}: {refused}");
            assert!(refused.to_string().contains("agreed"), "{refused}");
        }
        desk.then(is_flushed).await;
        let mut is_full = false;
        for number in 0..8 {
            match desk.queue.job(&number).delay(HOUR).enqueue().await {
                Err(QueueError::Full { .. }) => is_full = true,
                sent => assert_eq!(sent.unwrap().answer, Enqueued::Created, "{story}"),
            }
        }
        assert_eq!(is_full, kept == Kept::Redis && !is_flushed, "{story}");
        desk.topic.purge(Among::Waiting, "agreed").await.unwrap();
    }
}

async fn operators_and_programs_agree_on_shards<DB: Tested>(place: TestDatabase<DB>) {
    for (kept, is_flushed) in all_cases() {
        let story = format!("{kept:?}, flushed: {is_flushed}");
        let desk = Desk::open(&place, kept).await;
        let shards = desk.topic.shards() * 2;
        let mut ids = Vec::new();
        for _ in 0..8 {
            ids.push(desk.waiting().await);
        }
        assert_eq!(desk.topic.grow(shards).await.unwrap().shards, shards);
        if is_flushed {
            desk.flush().await;
        }
        // A flush removes the growth from the register, and a program that knows it stores it again.
        for topic in [&desk.topic, &desk.queue.topic()] {
            assert_eq!(topic.stats().await.unwrap().shards.len(), usize::from(shards), "{story}");
        }
        desk.then(false).await;
        ids.push(desk.waiting().await);
        let lost = if is_flushed && kept == Kept::Redis { 8 } else { 0 };
        for (number, id) in ids.iter().enumerate() {
            let (program, operator) = (desk.queue.find(id).await.unwrap(), desk.topic.job(*id).await.unwrap());
            assert_eq!(format!("{program:?}"), format!("{operator:?}"), "{story}");
            assert_eq!(program.is_none(), number < lost, "{story}, job {number}");
        }
        assert_eq!(desk.topic.revoke(&ids[8..]).await.unwrap(), [Revoked::Revoked], "{story}");
        let listed = desk.topic.list(Among::Waiting, None, 100).await.unwrap();
        assert_eq!(listed.len(), 8 - lost, "{story}");
        assert_eq!(desk.topic.purge(Among::Waiting, "agreed").await.unwrap(), 8 - lost as u64, "{story}");
    }
}

/// Rows whose jobs are in the store at other times, and rows whose jobs are not in the store, form one list without gaps.
async fn page_of_rows_and_store_is_complete_and_ordered<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place, Kept::RowsAlone).await;
    let mut sent = Vec::new();
    for number in 0..30_u32 {
        // Every other one beyond the horizon.
        let minutes = if number % 2 == 0 { 30 + number } else { 90 + number };
        sent.push(desk.queue.delay(Duration::from_secs(u64::from(minutes) * 60), &number).await.unwrap());
    }
    // What the store moves by itself is due later there than its row says.
    let (steps, shard) = desk.queue.steps(&sent[0]);
    let moved = evenkeel_protocol::queue::steps::Reschedule {
        id: sent[0],
        when: Some(When::In(DAY_MS)),
        body: None,
        codec: None,
    };
    steps.reschedule(&shard, &[moved]).await.unwrap();
    for limit in [1, 4, 7, 30, 31] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = desk.topic.list(Among::Waiting, after, limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(*last);
            all.extend(page);
        }
        assert!(all.is_sorted_by_key(|listed| (listed.score, listed.id)), "{limit} at once");
        let (mut newest, mut before) = (Vec::new(), None);
        loop {
            let page = desk.topic.newest(Among::Waiting, before, limit).await.unwrap();
            let Some(last) = page.last() else { break };
            before = Some(*last);
            newest.extend(page);
        }
        newest.reverse();
        assert_eq!(newest, all, "{limit} at once, in descending order");
        let mut listed: Vec<JobId> = all.iter().map(|listed| listed.id).collect();
        assert_eq!(listed.last(), Some(&sent[0]));
        listed.sort_unstable();
        let mut expected = sent.clone();
        expected.sort_unstable();
        assert_eq!(listed, expected, "{limit} at once");
    }
    // An operator knows the horizon, too: what it moves beyond leaves nothing new in the store.
    let stats = desk.topic.stats().await.unwrap();
    desk.topic.reschedule(sent[29], When::In(10 * DAY_MS)).await.unwrap();
    assert_eq!(desk.topic.stats().await.unwrap().total.waiting(), stats.total.waiting());
}

/// A row does not have the time of the enqueuing; its job has one once the sweep has restored it, which may happen between two reads.
fn without_enqueued_at(found: Option<Found>) -> String {
    let mut found = found;
    if let Some(Found::Live { job, .. }) = &mut found {
        job.enqueued_at = 0;
    }
    format!("{found:?}")
}
