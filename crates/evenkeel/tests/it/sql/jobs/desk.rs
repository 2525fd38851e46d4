//! A job of each durability, and what an operator does to it: whether both sides report what has become of it.

use crate::sql::databases::{TestDatabase, Tested};
use evenkeel::Keel;
use evenkeel::queue::topic::{Amended, JobState as Among, NewTopicJob, Preview, Previewed, Topic, Why};
use evenkeel::queue::{Delivery, Durability, Handled, JobId, Queue};
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Found, Rescheduled, Revoked, State, When};
use std::convert::Infallible;
use std::time::Duration;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};

pub(super) const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const DAY_MS: u64 = 86_400_000;
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);

/// The store of the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Redis,
    /// Redis, and a replica confirms each job.
    Replica,
    /// Redis, and its file confirms each job.
    Disk,
    Rows,
    RowsAlone,
}

impl Kept {
    pub(super) fn has_rows(self) -> bool {
        matches!(self, Self::Rows | Self::RowsAlone)
    }
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
    /// Kept alive.
    pub(super) _replica: Option<Redis>,
    pub(super) queue: Queue<u32>,
    pub(super) topic: Topic,
    pub(super) kept: Kept,
}

impl Desk {
    pub(super) async fn open<DB: Tested>(place: &TestDatabase<DB>, kept: Kept) -> Self {
        let options = RedisOptions::new();
        let redis = Redis::start(if kept == Kept::Disk { options.append_only() } else { options }).await.unwrap();
        let replica = if kept == Kept::Replica { Some(replica_of(&redis).await) } else { None };
        let (program, operator) =
            (Keel::connect(&redis.url()).await.unwrap(), Keel::connect(&redis.url()).await.unwrap());
        let builder = program.queue("agreed").retries(0);
        let builder = match kept {
            Kept::Redis => builder,
            Kept::Replica => builder.durability(Durability::Replicas { count: 1, timeout: CONFIRMED_WITHIN }),
            Kept::Disk => builder.durability(Durability::Disk { timeout: CONFIRMED_WITHIN }),
            Kept::Rows => builder.sql(&place.pool),
            Kept::RowsAlone => builder.sql(&place.pool).horizon(HOUR),
        };
        let queue = builder.open().await.unwrap();
        let topic = operator.topic("agreed").await.unwrap().sql(&place.pool);
        Self { redis: Some(redis), _replica: replica, queue, topic, kept }
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

    pub(super) async fn flush(&self) {
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
}

/// A replica that has everything, and that `WAIT` counts.
async fn replica_of(redis: &Redis) -> Redis {
    let replica = Redis::start(RedisOptions::new().replica_of(redis.port())).await.unwrap();
    eventually("the replica has copied the data", || async {
        let counted: u32 = redis.command(&["WAIT", "1", "100"]).await.ok()?;
        (counted == 1).then_some(())
    })
    .await
    .unwrap();
    replica
}

/// A row does not store when its job was enqueued. The job has such a time once the sweep has restored it, which may happen between
/// two reads.
fn without_enqueued_at(found: Option<Found>) -> String {
    let mut found = found;
    if let Some(Found::Live { job, .. }) = &mut found {
        job.enqueued_at = 0;
    }
    format!("{found:?}")
}
