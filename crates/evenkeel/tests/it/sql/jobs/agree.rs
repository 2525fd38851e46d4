//! Operators and programs agree: each operation of `Topic`, for each durability, before and after Redis has lost everything.

use super::desk::{Act, DAY_MS, Desk, Fate, HOUR, Kept, ON_DEAD, ON_WAITING};
use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::queue::topic::JobState as Among;
use evenkeel::queue::{JobId, QueueError};
use evenkeel_protocol::queue::steps::{Enqueued, Limits, Reschedules, Revoked, When};
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

impl Desk {
    /// One case: the operator's change persists, and both sides report it.
    async fn plays(&self, act: Act, id: JobId, is_flushed: bool) {
        let reported = self.act(act, id).await;
        let is_lost = is_flushed && !self.kept.has_rows();
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
        if self.kept.has_rows() {
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

// shows: hazard F4c
async fn operators_and_programs_agree_on_jobs_in_memory<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::Redis).await;
}

#[tokio::test]
async fn operators_and_programs_agree_on_jobs_that_a_replica_confirms() {
    agree(TestDatabase::<sqlx::Sqlite>::open().await, Kept::Replica).await;
}

/// Redis before 7.2 cannot say that its file has a job; the matrix has servers that can.
#[tokio::test]
async fn operators_and_programs_agree_on_jobs_that_the_disk_confirms() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let known: Vec<Option<Vec<redis::Value>>> = redis.command(&["COMMAND", "INFO", "WAITAOF"]).await.unwrap();
    if known[0].is_some() {
        agree(TestDatabase::<sqlx::Sqlite>::open().await, Kept::Disk).await;
    }
}

// shows: hazard F4c, queue::Topic::amend, queue::Queue::amend
async fn operators_and_programs_agree_on_jobs_with_rows<DB: Tested>(place: TestDatabase<DB>) {
    agree(place, Kept::Rows).await;
}

// shows: hazard F4c
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

    pub(super) async fn both_say(&self, is_paused: bool, story: &str) {
        for topic in [&self.topic, &self.queue.topic()] {
            assert_eq!(topic.stats().await.unwrap().is_paused(), is_paused, "{story}");
        }
    }
}

// shows: hazard F4e
async fn operators_and_programs_agree_on_pauses<DB: Tested>(place: TestDatabase<DB>) {
    for (kept, is_flushed) in all_cases() {
        let story = format!("{kept:?}, flushed: {is_flushed}");
        let desk = Desk::open(&place, kept).await;
        let lasts = kept.has_rows() || !is_flushed;
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

/// Limits count jobs in Redis, not rows: on a queue with rows, the call that sets a limit is rejected.
// shows: hazard F4e, queue::Topic::set_limits
async fn operators_and_programs_agree_on_limits<DB: Tested>(place: TestDatabase<DB>) {
    let limits = Limits { jobs_max: Some(4), bytes_max: None };
    for (kept, is_flushed) in all_cases() {
        let story = format!("{kept:?}, flushed: {is_flushed}");
        let desk = Desk::open(&place, kept).await;
        let set = desk.topic.set_limits(limits).await;
        if kept.has_rows() {
            let refused = set.unwrap_err();
            assert!(matches!(refused, QueueError::Invalid(_)), "{story}: {refused}");
            assert!(refused.to_string().contains("agreed"), "{refused}");
        } else {
            set.unwrap();
        }
        desk.then(is_flushed).await;
        let mut is_full = false;
        for number in 0..8 {
            match desk.queue.job(&number).delay(HOUR).enqueue().await {
                Err(QueueError::Full { .. }) => is_full = true,
                sent => assert_eq!(sent.unwrap().answer, Enqueued::Created, "{story}"),
            }
        }
        assert_eq!(is_full, !kept.has_rows() && !is_flushed, "{story}");
        desk.topic.purge(Among::Waiting, "agreed").await.unwrap();
    }
}

// shows: hazard F4e
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
        let lost = if is_flushed && !kept.has_rows() { 8 } else { 0 };
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
// shows: hazard F4c
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
    steps.run(&shard, &Reschedules(vec![moved])).await.unwrap();
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
