//! Random operators' calls on topics of each durability, with flushes of Redis and comparisons of rows in between. After each step the
//! program and the operator report the same of every job, and what a model of the accepted calls expects.

use super::desk::{Desk, Fate, Kept};
use crate::robustness::Round;
use crate::sql::databases::{TestDatabase, Tested};
use evenkeel::queue::JobId;
use evenkeel::queue::topic::{Amended, JobState, NewTopicJob};
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Rescheduled, Revoked, When};
use std::collections::BTreeMap;

const HOUR_MS: u64 = 3_600_000;
/// Jobs that wait or are dead at once.
const LIVE_MAX: usize = 6;
const STEPS: usize = 16;

pub(crate) async fn operators(mut round: Round) {
    match round.number(0, 2) {
        0 => run(round, TestDatabase::<sqlx::Sqlite>::open().await).await,
        1 => run(round, TestDatabase::<sqlx::MySql>::open().await).await,
        _ => run(round, TestDatabase::<sqlx::Postgres>::open().await).await,
    }
}

/// A topic, and what must be true of its jobs.
struct Model {
    desk: Desk,
    kept: Kept,
    jobs: BTreeMap<JobId, Fate>,
    /// Distinguishes the bodies of edits.
    edits: u32,
}

async fn run<DB: Tested>(mut round: Round, place: TestDatabase<DB>) {
    let kept = *round.one(&[Kept::Redis, Kept::Replica, Kept::Rows, Kept::RowsAlone]);
    round.step(format!("{kept:?} with {}", std::any::type_name::<DB>()));
    let desk = Desk::open(&place, kept).await;
    let mut model = Model { desk, kept, jobs: BTreeMap::new(), edits: 1 };
    for _ in 0..STEPS {
        model.step(&mut round).await;
        model.compare(&round).await;
    }
}

fn waits(hours: u64, body: &str) -> Fate {
    Fate::Waits(hours, body.to_owned())
}

/// None of these calls may be refused.
fn never(_: &evenkeel::queue::QueueError) -> bool {
    false
}

impl Model {
    fn live(&self) -> usize {
        self.jobs.values().filter(|fate| matches!(fate, Fate::Waits(..) | Fate::Dead(_))).count()
    }

    fn count(&self, is_dead: bool) -> u64 {
        let counts =
            |fate: &&Fate| if is_dead { matches!(fate, Fate::Dead(_)) } else { matches!(fate, Fate::Waits(..)) };
        self.jobs.values().filter(counts).count() as u64
    }

    fn body(&mut self) -> String {
        self.edits += 1;
        self.edits.to_string()
    }

    async fn step(&mut self, round: &mut Round) {
        match round.number(0, 11) {
            0..=1 if self.live() < LIVE_MAX => {
                self.jobs.insert(self.desk.waiting().await, waits(5, "1"));
                round.step("a program enqueues a job");
            }
            2 if self.live() < LIVE_MAX => self.add(round).await,
            3 if self.live() < LIVE_MAX && !self.jobs.values().any(|fate| matches!(fate, Fate::Waits(0, _))) => {
                self.jobs.insert(self.desk.dead().await, Fate::Dead("1".to_owned()));
                round.step("a job fails and is a dead letter");
            }
            4 => self.flush(round).await,
            5 => self.purge(round).await,
            6 => self.pause(round).await,
            7 if self.kept.has_rows() => {
                self.desk.queue.sweep_once().await.unwrap();
                round.step("rows are compared with the store");
            }
            _ => self.change(round).await,
        }
    }

    async fn add(&mut self, round: &mut Round) {
        let body = self.body();
        let new = NewTopicJob {
            body: body.clone().into(),
            when: When::In(2 * HOUR_MS),
            name: None,
            unique: None,
            priority: Default::default(),
            retries: None,
        };
        let added = self.desk.topic.add(new).await;
        let (id, _) = round.result("an operator adds a job", added, never).unwrap();
        self.jobs.insert(id, waits(2, &body));
    }

    async fn flush(&mut self, round: &mut Round) {
        self.desk.flush().await;
        round.misbehaves("Redis is flushed");
        if !self.kept.has_rows() {
            self.jobs.values_mut().for_each(|fate| *fate = Fate::Unknown);
        }
    }

    async fn purge(&mut self, round: &mut Round) {
        let is_dead = round.chance(50);
        let among = if is_dead { JobState::Dead } else { JobState::Waiting };
        let purged = self.desk.topic.purge(among, "agreed").await;
        let purged = round.result(format!("purge {among:?}"), purged, never).unwrap();
        assert_eq!(purged, self.count(is_dead), "purged {among:?}");
        for fate in self.jobs.values_mut() {
            if matches!((is_dead, &*fate), (true, Fate::Dead(_)) | (false, Fate::Waits(..))) {
                *fate = Fate::Ended(None);
            }
        }
    }

    /// A pause outlives a flush where SQL keeps the queue, and jobs are changed in the meantime.
    async fn pause(&mut self, round: &mut Round) {
        let until = if round.chance(50) { Some(self.desk.topic.now_ms() + 24 * HOUR_MS) } else { None };
        round.result(format!("pause until {until:?}"), self.desk.topic.pause(until).await, never);
        self.desk.both_say(true, "paused").await;
        let is_flushed = round.chance(50);
        if is_flushed {
            self.flush(round).await;
        }
        self.change(round).await;
        self.desk.queue.sweep_once().await.unwrap();
        self.desk.both_say(self.kept.has_rows() || !is_flushed, "paused, and then").await;
        round.result("resume", self.desk.topic.resume().await, never);
        self.desk.both_say(false, "resumed").await;
        round.checked(3);
    }

    /// One call for one job, in whatever state it is. The model changes if the call reports that it changed the job.
    async fn change(&mut self, round: &mut Round) {
        let unknown = JobId([7; 16]);
        let ids: Vec<JobId> = self.jobs.keys().copied().chain([unknown]).collect();
        let id = *round.one(&ids);
        let fate = self.jobs.get(&id).cloned().unwrap_or(Fate::Unknown);
        let (topic, is_waiting) = (self.desk.topic.clone(), matches!(fate, Fate::Waits(..)));
        let is_dead = matches!(fate, Fate::Dead(_));
        let call = |name: &str| format!("{name} {fate:?} {id}");
        let next = match (round.number(0, 6), &fate) {
            (0, _) => {
                let revoked = round.result(call("revoke"), topic.revoke(&[id]).await, never).unwrap();
                // A repeated call gets the answer of the first.
                let is_repeated = matches!(fate, Fate::Ended(_)) && revoked == [Revoked::Revoked];
                assert!(
                    is_repeated || (revoked == [Revoked::Revoked]) == is_waiting,
                    "revoke of {fate:?}: {revoked:?}"
                );
                is_waiting.then_some(Fate::Ended(Some(End::Revoked)))
            }
            (1, _) => {
                let hours = round.number(1, 48);
                let moved = topic.reschedule(id, When::In(hours * HOUR_MS)).await;
                self.changed(round.result(call("move"), moved, never), &fate);
                if let Fate::Waits(_, body) = &fate { Some(waits(hours, body)) } else { None }
            }
            (2, _) => {
                let body = self.body();
                let edited = topic.edit(id, body.clone().into()).await;
                self.changed(round.result(call("edit"), edited, never), &fate);
                if let Fate::Waits(hours, _) = &fate { Some(waits(*hours, &body)) } else { None }
            }
            (3, _) => {
                let run = topic.run_now(&[id]).await.map(|all| all[0]);
                self.changed(round.result(call("run"), run, never), &fate);
                if let Fate::Waits(_, body) = &fate { Some(waits(0, body)) } else { None }
            }
            (4, _) => {
                let deleted = round.result(call("delete"), topic.delete_dead(&[id]).await, never).unwrap();
                assert_eq!(deleted, [is_dead], "delete of {fate:?}");
                is_dead.then_some(Fate::Ended(None))
            }
            (5, _) => {
                let redriven = topic.redrive(&format!("{id} {}", self.body())).only([id]).run().await;
                let redriven = round.result(call("redrive"), redriven, never).unwrap();
                assert_eq!(redriven.taken, u64::from(is_dead), "redrive of {fate:?}");
                if let Fate::Dead(body) = &fate { Some(waits(0, body)) } else { None }
            }
            (_, Fate::Dead(seen)) => {
                let body = self.body();
                let amended = topic.amend(id, "another".into(), body.clone().into()).await;
                assert_eq!(round.result(call("amend unseen"), amended, never), Some(Amended::Other));
                let amended = topic.amend(id, seen.clone().into(), body.clone().into()).await;
                assert_eq!(round.result(call("amend"), amended, never), Some(Amended::Changed));
                Some(Fate::Dead(body))
            }
            _ => None,
        };
        if let Some(next) = next {
            self.jobs.insert(id, next);
        }
    }

    /// Only a waiting job is reported as changed.
    fn changed(&self, answer: Option<Rescheduled>, fate: &Fate) {
        let is_changed = answer == Some(Rescheduled::Changed);
        assert_eq!(is_changed, matches!(fate, Fate::Waits(..)), "{fate:?}: {answer:?}");
    }

    async fn compare(&self, round: &Round) {
        for (id, expected) in &self.jobs {
            let fate = self.desk.agreed(*id).await;
            let agrees = match expected {
                // A purge leaves a record, or none.
                Fate::Ended(None) => matches!(fate, Fate::Ended(_) | Fate::Unknown),
                expected => fate == *expected,
            };
            assert!(agrees, "job {id}: {fate:?}, expected {expected:?}");
            round.checked(1);
        }
    }
}
