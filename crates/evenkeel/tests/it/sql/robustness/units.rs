//! Units of work with drawn effects, a relay with drawn settings, and a reader with an inbox.

use super::{is_name, never, shown, text};
use crate::queue::side::extremes::changes as job_changes;
use crate::robustness::Round;
use crate::sql::extremes::{SIZES, relay_settings, spans};
use crate::sql::rig::{Rig, Sql};
use crate::stream::side::extremes::changes as entry_changes;
use evenkeel::queue::JobId;
use evenkeel::sql::relay::operate::{Outbox, WorkState};
use evenkeel::sql::sink::stream::Limit;
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Effects, Message, Once, SqlError};
use evenkeel::stream::{EntryId, Stream};
use std::collections::{BTreeMap, BTreeSet};

/// The header with the number of a message.
const NUMBER: &str = "number";
/// Passes of the relay after which everything has been sent, even one row at a time.
const PASSES: usize = 400;

/// A message that must arrive: its topic, key and size.
#[derive(Clone, Debug, PartialEq)]
struct Sold {
    topic: String,
    key: Option<String>,
    size: usize,
}

/// What one unit of work has recorded.
#[derive(Default)]
struct Recorded {
    messages: BTreeMap<u64, Sold>,
    jobs: BTreeSet<JobId>,
    revoked: BTreeSet<JobId>,
    entries: usize,
}

/// A database, and what must arrive.
pub(super) struct Shop<'a, DB: Sql> {
    rig: &'a Rig<DB>,
    sink: StreamSink,
    orders: Stream<String>,
    /// Every message so far, by its number.
    expected: BTreeMap<u64, Sold>,
    jobs: BTreeSet<JobId>,
    entries: usize,
    numbers: u64,
    units: i64,
}

impl<'a, DB: Sql> Shop<'a, DB> {
    pub(super) async fn open(rig: &'a Rig<DB>) -> Self {
        let orders = rig.keel.stream("orders").partitions(1).open().await.unwrap();
        let (expected, jobs) = (BTreeMap::new(), BTreeSet::new());
        let sink = StreamSink::new(&rig.keel);
        Self { rig, sink, orders, expected, jobs, entries: 0, numbers: 0, units: 10 }
    }

    /// A unit of work with up to five effects, which is committed, rolled back or dropped.
    pub(super) async fn unit(&mut self, round: &mut Round) {
        let before = self.rows().await;
        let units = self.units + 1;
        let statement = format!("UPDATE stock SET units = {units} WHERE id = 1");
        let (rig, end) = (self.rig, round.number(0, 9));
        let mut recorded = Recorded::default();
        let committed = if round.chance(70) {
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            DB::run(work.tx(), &statement).await.unwrap();
            self.effects(round, &mut work, &mut recorded);
            match end {
                0 => {
                    drop(work);
                    None
                }
                1 | 2 => {
                    work.rollback().await.unwrap();
                    None
                }
                // Several messages of megabytes may be more than MariaDB accepts.
                _ => round.result("commit", Box::pin(work.commit()).await, |error| {
                    matches!(error, SqlError::TooLarge { .. })
                }),
            }
        } else {
            let mut transaction = rig.pool.begin().await.unwrap();
            let mut joined = rig.keel.join(&mut transaction).await.unwrap();
            DB::run(&mut transaction, &statement).await.unwrap();
            self.effects(round, &mut joined, &mut recorded);
            if end < 3 {
                transaction.rollback().await.unwrap();
                None
            } else {
                let sealed = round.result("seal", Box::pin(joined.seal(&mut transaction)).await, never).unwrap();
                transaction.commit().await.unwrap();
                round.result("carry out", Box::pin(sealed.carry_out(&rig.pool)).await, never).unwrap()
            }
        };
        let keyed = recorded.messages.values().filter(|message| message.key.is_some()).count() + recorded.entries;
        let more = i64::try_from(keyed).unwrap();
        if committed.is_some() {
            assert_eq!(self.rows().await, (before.0 + 1, before.1 + more), "one row, and one for each ordered message");
            self.commits(recorded, units);
        } else {
            round.step("rolled back");
            assert_eq!(self.rows().await, before, "nothing is written");
        }
        assert_eq!((rig.cached_units().await, rig.units().await), (self.units, self.units));
        round.checked(3);
    }

    /// The rows of units of work and of ordered messages.
    async fn rows(&self) -> (i64, i64) {
        let works = self.rig.number("SELECT COUNT(*) FROM evenkeel_outbox").await;
        (works, self.rig.number("SELECT COUNT(*) FROM evenkeel_outbox_ordered").await)
    }

    fn commits(&mut self, recorded: Recorded, units: i64) {
        self.units = units;
        self.expected.extend(recorded.messages);
        self.entries += recorded.entries;
        self.jobs.retain(|job| !recorded.revoked.contains(job));
        self.jobs.extend(recorded.jobs);
    }

    /// Each effect is accepted or refused; what is refused is not recorded.
    fn effects(&mut self, round: &mut Round, effects: &mut Effects, recorded: &mut Recorded) {
        let version = *round.one(&[None, Some(0), Some(1), Some(1 << 53), Some(u64::MAX)]);
        let invalidated = match version {
            Some(version) => effects.invalidate_at(&self.rig.stock, &1, version),
            None => effects.invalidate(&self.rig.stock, &1),
        };
        round.result(format!("invalidate at {version:?}"), invalidated, never).unwrap();
        for _ in 0..round.number(0, 5) {
            match round.number(0, 9) {
                0..=4 => self.publish(round, effects, recorded),
                5 | 6 => self.enqueue(round, effects, recorded),
                7 => self.append(round, effects, recorded),
                8 => {
                    let known: Vec<JobId> = self.jobs.iter().chain(&recorded.jobs).copied().collect();
                    let id = if known.is_empty() { JobId([7; 16]) } else { *round.one(&known) };
                    round.result("revoke a job", effects.revoke(&self.rig.mail, id), never);
                    recorded.jobs.remove(&id);
                    recorded.revoked.insert(id);
                }
                _ => {
                    let trace = text(round);
                    round.step(format!("trace {}", shown(&trace)));
                    effects.trace(&trace);
                }
            }
        }
    }

    fn publish(&mut self, round: &mut Round, effects: &mut Effects, recorded: &mut Recorded) {
        self.numbers += 1;
        let (topic, size) = (text(round), *round.one(&SIZES));
        let key = round.chance(60).then(|| text(round));
        let mut message = Message::new(topic.clone(), vec![b'p'; size]).header(NUMBER, self.numbers.to_string());
        let mut call = format!("publish {size} bytes to {}", shown(&topic));
        if let Some(key) = &key {
            message = message.key(key.clone());
            call = format!("{call}, key {}", shown(key));
        }
        if round.chance(30) {
            let (name, value) = (text(round), text(round));
            call = format!("{call}, header {} of {}", shown(&name), shown(&value));
            message = message.header(name, value);
        }
        let is_allowed = is_name(&topic) && key.as_deref().is_none_or(is_name);
        let refusal = |error: &SqlError| matches!(error, SqlError::Effect(_)) && !is_allowed;
        if round.result(&call, effects.publish(message), refusal).is_some() {
            assert!(is_allowed, "accepted: {call}");
            recorded.messages.insert(self.numbers, Sold { topic, key, size });
        }
    }

    fn enqueue(&mut self, round: &mut Round, effects: &mut Effects, recorded: &mut Recorded) {
        let body = "letter".to_owned();
        let (job, what) = round.change(self.rig.mail.job(&body), &job_changes(), 0..=2);
        let enqueued = if round.chance(80) { effects.enqueue(job) } else { effects.reschedule(job) };
        let refusal = |error: &SqlError| matches!(error, SqlError::Queue(_) | SqlError::Effect(_));
        if let Some(id) = round.result(format!("enqueue: {what}"), enqueued, refusal) {
            recorded.jobs.insert(id);
            recorded.revoked.remove(&id);
        }
    }

    fn append(&mut self, round: &mut Round, effects: &mut Effects, recorded: &mut Recorded) {
        let (key, value) = (text(round), "x".to_owned());
        let (entry, what) = round.change(self.orders.entry(key.clone(), &value), &entry_changes(), 0..=1);
        let refusal = |error: &SqlError| matches!(error, SqlError::Effect(_));
        let call = format!("append with key {}: {what}", shown(&key));
        if round.result(&call, effects.append(entry), refusal).is_some() {
            assert!(is_name(&key), "accepted: {call}");
            recorded.entries += 1;
        }
    }

    /// Relays with drawn settings send everything.
    pub(super) async fn drain(&mut self, round: &mut Round) {
        let (rig, table) = (self.rig, relay_settings::<DB>());
        let outbox = Outbox::new(&rig.pool);
        for pass in 0.. {
            let (relay, what) = round.change(rig.keel.relay(&rig.pool), &table, 0..=4);
            let sink = self.sink.clone().deduplication_window(*round.one(&spans()));
            let limit = *round.one(&[Limit::Unlimited, Limit::Refuse(i64::MAX as u64), Limit::TrimOldest(u64::MAX)]);
            let relay = relay.sinks(Sinks::to(sink.limit(limit)).streams(&rig.keel));
            // What waits between two attempts, or for its process, is due now.
            rig.keel.until_marked(&rig.pool).await;
            let mut connection = rig.pool.acquire().await.unwrap();
            for due in [
                "UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1",
                "UPDATE evenkeel_outbox_keys SET due_at = 1 WHERE due_at IS NOT NULL AND parked_at IS NULL",
            ] {
                DB::run(&mut connection, due).await.unwrap();
            }
            drop(connection);
            let looked = round.result(format!("a pass with {what}"), relay.run_once().await, never).unwrap();
            round.result("tidy", relay.tidy_once().await, never);
            let stats = outbox.stats().await.unwrap();
            assert_eq!((stats.parked, stats.keys_parked, looked.failed), (0, 0, 0), "{looked:?}");
            if stats.waiting + stats.messages == 0 {
                return;
            }
            let waiting = outbox.units(WorkState::Waiting, None, 10).await.unwrap();
            assert!(pass < PASSES, "not sent: {stats:?}, {waiting:?}");
        }
    }

    /// Every committed message is in its topic, those of a key in their order, and is processed once; jobs and entries are there.
    pub(super) async fn consume(&mut self, round: &Round) {
        let topics: BTreeSet<&String> = self.expected.values().map(|sold| &sold.topic).collect();
        let mut arrived: BTreeMap<u64, Sold> = BTreeMap::new();
        for topic in topics {
            let mut last: BTreeMap<String, u64> = BTreeMap::new();
            for entry in self.sink.entries(topic, None, usize::MAX).await.unwrap() {
                let message = entry.message;
                let number = message.headers.iter().find(|(name, _)| name == NUMBER).unwrap().1.parse().unwrap();
                let key = message.order.as_ref().map(|order| order.key.clone());
                if let Some(order) = message.order {
                    let before = last.insert(order.key, order.sequence).unwrap_or(0);
                    assert_eq!(order.sequence, before + 1, "in order");
                    let later = arrived.iter().filter(|(_, sold)| sold.key == key && sold.topic == *topic);
                    assert!(later.into_iter().all(|(other, _)| *other < number), "in the order of their commits");
                }
                let is_new = arrived.insert(number, Sold { topic: topic.clone(), key, size: message.payload.len() });
                assert!(is_new.is_none(), "{number} arrived twice");
                process(self.rig, &message.id).await;
            }
        }
        assert_eq!(arrived, self.expected, "what was committed arrived");
        let processed = "SELECT COUNT(*) FROM evenkeel_inbox WHERE consumer_group = 'reader'";
        assert_eq!(self.rig.number(processed).await, i64::try_from(arrived.len()).unwrap());
        for job in &self.jobs {
            assert!(self.rig.mail.find(job).await.unwrap().is_some(), "job {job} is there");
        }
        let entries = self.orders.admin().peek(0, EntryId::MIN, 500).await.unwrap();
        assert_eq!(entries.len(), self.entries, "entries of the stream");
        round.checked((2 * arrived.len() + self.jobs.len() + self.entries) as u64);
    }
}

/// Two deliveries: at most the first one has an effect.
async fn process<DB: Sql>(rig: &Rig<DB>, id: &str) {
    let inbox = rig.keel.inbox(&rig.pool);
    let mut transaction = rig.pool.begin().await.unwrap();
    let once = inbox.once(&mut transaction, "reader", id).await.unwrap();
    assert!(matches!(once, Once::Fresh | Once::Seen), "{once:?}");
    transaction.commit().await.unwrap();
    let mut transaction = rig.pool.begin().await.unwrap();
    assert_eq!(inbox.once(&mut transaction, "reader", id).await.unwrap(), Once::Seen);
    transaction.commit().await.unwrap();
}
