//! Random units of work with messages for a healthy sink and for hostile ones, and with encoders and callers that panic. The healthy sink
//! gets all of its messages, and a hostile one all that do not follow one at which it fails. Operators see the others, which arrive when
//! the sink is mended. What is rolled back never arrives.

mod checks;

use super::Db;
use super::stage::Stage;
use crate::robustness::Round;
use crate::sql::relay::hostile::{BAD, HostileSink, How, Mode, Taken, message};
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheKey, KeyWriter};
use evenkeel::queue::{JobId, Queue};
use evenkeel::sql::relay::operate::Outbox;
use evenkeel::sql::sink::Sinks;
use evenkeel::sql::{Message, Relay, SqlError, WorkId};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize, Serializer};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// How much time passes before each pass of the relays: more than a gate stays closed.
const PAUSE_MS: u64 = 20_000;
const MIB: usize = 1 << 20;
const ROWS: u64 = ROW_COUNT as u64;
const ROW_COUNT: usize = 3;
/// Names that a collation may treat as equal, or that a statement must escape.
const KEYS: [&str; 5] = ["k", "K", "k ", "k\u{e4}", "'\"\\%_\r\n"];

/// A value that panics when it is encoded.
#[derive(Deserialize)]
struct EncodePanics;

impl Serialize for EncodePanics {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("on purpose")
    }
}

/// A key that panics when it is written.
struct WritePanics;

impl CacheKey for WritePanics {
    fn write(&self, _: &mut KeyWriter) {
        panic!("on purpose")
    }
}

/// A committed message.
#[derive(Clone, Debug)]
struct Sent {
    number: u64,
    /// The number of its sink; 0 is the healthy one.
    sink: usize,
    key: Option<String>,
    /// Its place among the messages of the key.
    sequence: u64,
    how: How,
    bytes: usize,
    work: WorkId,
    /// An operator has given it up.
    is_skipped: bool,
}

impl Sent {
    fn topic(&self) -> String {
        topic(self.sink)
    }

    fn name(&self) -> Option<(String, String)> {
        Some((self.topic(), self.key.clone()?))
    }
}

fn topic(sink: usize) -> String {
    format!("sink{sink}")
}

/// Producers in a process over one store; relays, and readers of what they carry out, over another.
struct Shop {
    stage: Stage,
    relays: Vec<Relay<Db>>,
    attempts_max: u64,
    sinks: Vec<HostileSink>,
    outbox: Outbox<Db>,
    stock: Cache<u64, u64>,
    mail: Queue<u64>,
    letters: Queue<EncodePanics>,
    keyed: Cache<WritePanics, u64>,
    /// As the other process sees them.
    seen_stock: Cache<u64, u64>,
    seen_mail: Queue<u64>,
    /// The rows in the database that the caches are for.
    rows: [u64; ROW_COUNT],
    jobs: Vec<JobId>,
    sent: Vec<Sent>,
    /// Of messages, also of those that were rolled back.
    numbers: u64,
    large: usize,
}

pub(in crate::sql::relay) async fn hostile(mut round: Round) {
    let mut shop = Shop::open(&mut round).await;
    for _ in 0..round.number(2, 8) {
        for _ in 0..round.number(2, 10) {
            shop.work(&mut round).await;
        }
        shop.lose_marks().await;
        shop.pass(&round).await;
    }
    shop.until(&round, Shop::before_mending).await;
    shop.is_seen_by_operators(&round).await;
    shop.mend(&mut round).await;
    shop.until(&round, async |shop: &Shop| shop.missing(|sent| !sent.is_skipped)).await;
    shop.is_done(&round).await;
}

async fn stock(keel: &Keel) -> Cache<u64, u64> {
    keel.cache("stock").ttl(Duration::from_secs(30 * 24 * 3600)).open().await.unwrap()
}

impl Shop {
    async fn open(round: &mut Round) -> Self {
        let stage = Stage::set().await;
        let modes = [Mode::ByMessage, Mode::ByMessage, Mode::ByMessage, Mode::Away, Mode::Busy];
        let mut sinks = vec![HostileSink::new(Mode::ByMessage, &stage.clock)];
        for _ in 0..round.number(1, 3) {
            sinks.push(HostileSink::new(*round.one(&modes), &stage.clock));
        }
        let routes = sinks.iter().enumerate();
        let routes = routes.fold(Sinks::none(), |all, (number, sink)| all.route(topic(number), sink.clone()));
        let elsewhere = Keel::builder().clock(stage.clock.clock()).memory();
        let (batch, attempts_max) = (*round.one(&[64, 256]), u32::try_from(round.number(2, 4)).unwrap());
        let mut relays = Vec::new();
        for _ in 0..round.number(1, 2) {
            let relay = elsewhere.another_process().relay(&stage.pool).sinks(routes.clone()).batch(batch);
            let relay = relay.attempts_max(attempts_max).deadline(Duration::from_millis(900));
            relays.push(relay.backoff(Duration::from_millis(1), Duration::from_millis(1)));
        }
        let is_publisher = round.chance(50);
        if is_publisher {
            // The process that commits sends unordered messages itself.
            let _ = stage.keel.relay(&stage.pool).sinks(routes);
        }
        let modes: Vec<Mode> = sinks.iter().map(HostileSink::mode).collect();
        round.step(format!(
            "{modes:?}, {} relays, batch {batch}, {attempts_max} attempts, {is_publisher}",
            relays.len()
        ));
        let keel = &stage.keel;
        Self {
            outbox: Outbox::new(&stage.pool),
            stock: stock(keel).await,
            mail: keel.queue("mail").open().await.unwrap(),
            letters: keel.queue("letters").open().await.unwrap(),
            keyed: keel.cache("keyed").ttl(Duration::from_secs(60)).open().await.unwrap(),
            seen_stock: stock(&elsewhere).await,
            seen_mail: elsewhere.queue("mail").open().await.unwrap(),
            rows: [1; ROW_COUNT],
            jobs: Vec::new(),
            sent: Vec::new(),
            numbers: 0,
            large: 0,
            attempts_max: attempts_max.into(),
            stage,
            relays,
            sinks,
        }
    }

    /// One unit of work, which is committed, rolled back, dropped, or dropped by a panic.
    async fn work(&mut self, round: &mut Round) {
        let mut work = self.stage.keel.begin(&self.stage.pool).await.unwrap();
        let mut sent: Vec<Sent> = Vec::new();
        for _ in 0..round.number(0, 4) {
            let mut new = self.message(round, work.id());
            let of_key = self.sent.iter().chain(&sent).filter(|other| other.name() == new.name()).count();
            new.sequence = 1 + of_key as u64;
            let message = message(&new.topic(), new.number, new.how, new.bytes);
            let message = if let Some(key) = &new.key { message.key(key) } else { message };
            work.publish(message).unwrap();
            sent.push(new);
        }
        for (topic, key) in [("", "k".to_owned()), ("sink0", String::new()), ("sink0", "x".repeat(256))] {
            if round.chance(10) {
                let refused = work.publish(Message::new(topic, "refused").key(key));
                round.result("an invalid name", refused, |error| matches!(error, SqlError::Effect(_)));
            }
        }
        let row = round.number(0, 2 * ROWS - 1);
        if row < ROWS {
            // The other process has the row in its cache.
            self.seen(row).await;
            work.invalidate(&self.stock, &row).unwrap();
        }
        let job = round.chance(40).then(|| work.enqueue(self.mail.job(&self.numbers)).unwrap());
        if round.chance(30) {
            round.misbehaves("encoders and keys panic");
            let panics = [
                catch_unwind(AssertUnwindSafe(|| drop(work.enqueue(self.letters.job(&EncodePanics))))).is_err(),
                catch_unwind(AssertUnwindSafe(|| drop(work.invalidate(&self.keyed, &WritePanics)))).is_err(),
            ];
            assert_eq!(panics, [true, true]);
        }
        match round.number(0, 11) {
            0 => work.rollback().await.unwrap(),
            1 => {
                round.misbehaves("a unit of work is dropped");
                drop(work);
            }
            2 => {
                round.misbehaves("the code of a unit of work panics");
                let code = AssertUnwindSafe(async move {
                    let _work = work;
                    panic!("on purpose")
                });
                let end: std::thread::Result<()> = FutureExt::catch_unwind(code).await;
                assert!(end.is_err());
            }
            _ => {
                if let Some(row) = self.rows.get_mut(usize::try_from(row).unwrap()) {
                    *row += 1;
                }
                Box::pin(work.commit()).await.unwrap();
                for sent in &sent {
                    round.step(format!("committed {sent:?}"));
                }
                self.sent.extend(sent);
                self.jobs.extend(job);
            }
        }
    }

    fn message(&mut self, round: &mut Round, work: WorkId) -> Sent {
        let sink = usize::try_from(round.number(0, self.sinks.len() as u64 - 1)).unwrap();
        let how = if sink > 0 && round.chance(35) { *round.one(&BAD) } else { How::Accepts };
        if how != How::Accepts {
            round.misbehaves(format!("{how:?}"));
        }
        let key = round.chance(60).then(|| (*round.one(&KEYS)).to_owned());
        let is_large = self.large < 8 && round.chance(10);
        self.large += usize::from(is_large);
        let bytes = if is_large { MIB } else { usize::try_from(round.number(0, 2_000)).unwrap() };
        self.numbers += 1;
        Sent { number: self.numbers, sink, key, sequence: 0, how, bytes, work, is_skipped: false }
    }

    /// A row as the other process reads it.
    async fn seen(&self, row: u64) -> u64 {
        let value = self.rows[usize::try_from(row).unwrap()];
        let load = async move { Ok::<_, Infallible>(Some(value)) };
        *Box::pin(self.seen_stock.get(&row, |_| load)).await.unwrap().unwrap()
    }

    /// As if the process that committed had died before it could mark its units of work as done: relays repeat their effects.
    async fn lose_marks(&self) {
        self.stage.keel.until_marked(&self.stage.pool).await;
        let again = "UPDATE evenkeel_outbox SET state = 1, due_at = created_at, settled_at = NULL";
        self.stage.sql(&format!("{again} WHERE state = 2 AND LENGTH(effects) > 1")).await;
    }

    /// Time passes, also for the database, and in its order; then each relay looks once.
    async fn pass(&self, round: &Round) {
        self.stage.clock.advance(Duration::from_millis(PAUSE_MS));
        let earlier = format!("SET due_at = due_at - {PAUSE_MS} WHERE due_at IS NOT NULL");
        self.stage.sql(&format!("UPDATE evenkeel_outbox {earlier} AND state = 1")).await;
        self.stage.sql(&format!("UPDATE evenkeel_outbox_keys {earlier} AND parked_at IS NULL")).await;
        for looked in join_all(self.relays.iter().map(Relay::run_once)).await {
            // The time in which a sink hangs passes for the statements of another relay, too.
            let is_late = |error: &SqlError| self.relays.len() > 1 && error.is_retryable();
            round.result("a pass", looked, is_late);
        }
    }

    /// Passes until nothing is missing.
    async fn until(&mut self, round: &Round, missing: impl AsyncFn(&Self) -> Vec<String>) {
        let bad = self.sent.iter().filter(|sent| sent.how != How::Accepts).count();
        for _ in 0..100 + 10 * bad {
            if missing(self).await.is_empty() {
                return;
            }
            self.pass(round).await;
        }
        let missing = missing(self).await;
        assert!(missing.is_empty(), "missing after many passes: {missing:#?}");
    }

    /// The messages of these, which no sink has taken.
    fn missing(&self, expected: impl Fn(&Sent) -> bool) -> Vec<String> {
        let taken: Vec<Vec<Taken>> = self.sinks.iter().map(HostileSink::taken).collect();
        let is_missing = |sent: &&Sent| expected(sent) && !taken[sent.sink].iter().any(|one| one.number == sent.number);
        self.sent.iter().filter(is_missing).map(|sent| format!("{sent:?}")).collect()
    }
}
