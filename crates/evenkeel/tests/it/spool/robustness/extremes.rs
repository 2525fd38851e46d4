//! Random misuse of spools: settings at their extremes in any combination, and effects of any size in any order. What is acknowledged is
//! pending until it is done, also after the folder was opened again, and an invalidation is replayed.

use crate::robustness::Round;
use crate::spool::extremes::{changes, spans};
use crate::spool::small;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError, Freshness, Invalidated};
use evenkeel::link::LinkOptions;
use evenkeel::spool::{Kind, PendingEffect, Spool, SpoolError, SpoolOptions, WhenFull};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use testkit::park::{SharedRedis, redis};

/// The longest name of a topic, and what is just above; most topics are short.
const TOPICS: [usize; 7] = [0, 1, 1, 3, 3, 255, 256];
const KEYS: [usize; 7] = [0, 1, 1, 2, 2, 200, 65_536];
/// An effect with an empty topic and key takes 32 bytes and its body; the smallest segment has 256.
const BODIES: [usize; 8] = [0, 1, 20, 20, 223, 224, 225, 4_065];

/// Spools with up to four settings drawn from the table of extremes, and in rounds on Redis a cache that uses them.
pub(crate) async fn extremes(mut round: Round) {
    for _ in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let (options, what) = options(&mut round);
        // Whether a caller waits, and for how long, is known here and not in the table.
        let wait = if round.chance(50) { Some(*round.one(&spans())) } else { None };
        let options = wait.map_or(options.clone(), |wait| options.when_full(WhenFull::Block(wait)));
        let is_patient = wait.is_some_and(|wait| wait > Duration::from_secs(1));
        let what = format!("open with {what}; block {wait:?}");
        let Some(spool) = opened(&round, &what, folder.path(), &options).await else { continue };
        let mut used = Used { spool, kept: BTreeMap::new(), is_patient };
        for _ in 0..round.number(1, 3) {
            for _ in 0..12 {
                used.call(&mut round).await;
                used.compare(&round);
            }
            used.spool.close().await.unwrap();
            let closed = used.spool.append(PendingEffect::write("a", "k", "")).await;
            round.result("append to a closed spool", closed, |error| matches!(error, SpoolError::Closed));
            // Smaller limits than before leave what is pending as it is.
            let (again, is_patient) =
                if round.chance(50) { (options.clone(), is_patient) } else { (self::options(&mut round).0, false) };
            let Some(spool) = opened(&round, "open again", folder.path(), &again).await else { break };
            used = Used { spool, is_patient, ..used };
            used.compare(&round);
        }
    }
    if round.is_on_redis() {
        invalidations(&mut round).await;
    }
}

fn options(round: &mut Round) -> (SpoolOptions, String) {
    let table = changes().into_iter().filter(|(what, ..)| !what.starts_with("block"));
    let table: Vec<_> = table.map(|(what, _, change)| (what, change)).collect();
    round.change(small(), &table, 0..=3)
}

/// A refusal leaves nothing new in the folder.
async fn opened(round: &Round, what: &str, folder: &Path, options: &SpoolOptions) -> Option<Spool> {
    let before = std::fs::read_dir(folder).unwrap().count();
    let opened = Spool::open(folder, options.clone()).await;
    let opened = round.result(what, opened, |error| matches!(error, SpoolError::Settings { .. }));
    assert!(opened.is_some() || std::fs::read_dir(folder).unwrap().count() == before, "{what}");
    opened
}

/// A spool, and what it must contain.
struct Used {
    spool: Spool,
    kept: BTreeMap<u64, PendingEffect>,
    /// Its callers wait for space for years.
    is_patient: bool,
}

fn bytes(effect: &PendingEffect) -> u64 {
    32 + (effect.topic.len() + effect.key.len() + effect.body.len()) as u64
}

impl Used {
    async fn call(&mut self, round: &mut Round) {
        match round.number(0, 9) {
            0..=6 => self.append(round).await,
            7 | 8 => {
                let mut done: Vec<u64> = self.kept.keys().copied().filter(|_| round.chance(40)).collect();
                done.extend([0, u64::MAX]);
                round.step(format!("{} are done", done.len()));
                self.kept.retain(|sequence, _| !done.contains(sequence));
                self.spool.done(&done);
                self.spool.sync().await.unwrap();
            }
            _ => round.result("sync", self.spool.sync().await, |_| false).unwrap(),
        }
    }

    async fn append(&mut self, round: &mut Round) {
        let topic = "t".repeat(*round.one(&TOPICS));
        let (key, mut body) = (vec![b'k'; *round.one(&KEYS)], *round.one(&BODIES));
        if round.chance(3) {
            body = 1 << 20;
        }
        let what = format!("append a topic of {}, a key of {}, a body of {body}", topic.len(), key.len());
        let body = vec![b'b'; body];
        let effect = if round.chance(50) {
            PendingEffect::delete(topic, key, body)
        } else {
            PendingEffect::write(topic, key, body)
        };
        let (size, pending, topic_bytes) = (bytes(&effect), self.bytes(), effect.topic.len() as u64);
        let refusal = |error: &SpoolError| match *error {
            SpoolError::TooLarge { bytes, bytes_max } => bytes == size && bytes > bytes_max,
            SpoolError::LongTopic { bytes, bytes_max } => bytes == topic_bytes && bytes > bytes_max,
            SpoolError::Full { bytes, bytes_max } => bytes == pending && bytes + size > bytes_max,
            _ => false,
        };
        let spool = self.spool.clone();
        let appended = if self.is_patient {
            tokio::select! {
                appended = spool.append(effect.clone()) => appended,
                never = self.make_room(round) => match never {},
            }
        } else {
            spool.append(effect.clone()).await
        };
        // What was done for a caller that waited is completed by now.
        self.spool.sync().await.unwrap();
        let Some(sequence) = round.result(what, appended, refusal) else { return };
        assert!(self.kept.keys().all(|other| *other < sequence), "a sequence that rises: {sequence}");
        if effect.kind == Kind::Delete {
            self.kept
                .retain(|_, other| other.kind == Kind::Write || other.topic != effect.topic || other.key != effect.key);
        }
        self.kept.insert(sequence, effect);
    }

    /// Completes the oldest effects one by one, for a caller that waits for space.
    async fn make_room(&mut self, round: &Round) -> Infallible {
        loop {
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            if let Some((oldest, _)) = self.kept.pop_first() {
                round.step(format!("{oldest} is done, for one that waits"));
                self.spool.done(&[oldest]);
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.kept.values().map(bytes).sum()
    }

    fn compare(&self, round: &Round) {
        let mut topics = BTreeMap::new();
        for effect in self.kept.values() {
            *topics.entry(effect.topic.clone()).or_default() += 1;
        }
        assert_eq!(self.spool.topics(), topics);
        for topic in topics.keys() {
            let of = |kind| self.kept.iter().filter(move |(_, effect)| effect.topic == *topic && effect.kind == kind);
            let expected: Vec<_> = of(Kind::Delete).chain(of(Kind::Write)).collect();
            for limit in [0, 1, usize::MAX] {
                let found = self.spool.pending(topic, limit);
                assert_eq!(found.len(), limit.min(expected.len()), "{limit} of a topic of {}", topic.len());
                for (found, (sequence, effect)) in found.iter().zip(&expected) {
                    assert!(found.sequence == **sequence && found.effect == **effect, "{sequence}");
                }
            }
        }
        let stats = self.spool.stats();
        assert_eq!((stats.pending, stats.bytes, stats.torn_bytes), (self.kept.len(), self.bytes(), 0));
        round.checked(1 + topics.len() as u64);
    }
}

type Rows = Cache<String, String>;

async fn rows(keel: &Keel) -> Rows {
    keel.cache("row").ttl(Duration::from_secs(600)).store_timeout(Duration::from_secs(10)).open().await.unwrap()
}

async fn read(rows: &Rows, key: &String, row: &'static str) -> String {
    let load = async move { Ok::<_, Infallible>(Some(row.to_owned())) };
    rows.get_with(key, Freshness::Eventual, |_| load).await.unwrap().value.unwrap().to_string()
}

/// Invalidations without Redis, by a process that ends: the next one with this folder carries out what was accepted.
async fn invalidations(round: &mut Round) {
    let server: SharedRedis = redis().await.unwrap();
    let url = format!("{}?prefix={}", server.url, server.prefix);
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), Keel::connect(&url).await.unwrap());
    let elsewhere = rows(&elsewhere).await;
    let (options, what) = options(round);
    let opened = Keel::builder().spool(folder.path(), options.clone()).await;
    let is_refusal = |error: &SpoolError| matches!(error, SpoolError::Settings { .. });
    let Some(builder) = round.result(format!("a keel and a spool with {what}"), opened, is_refusal) else { return };
    // No server listens there.
    let mut nowhere = LinkOptions::from_url(&format!("unix://{}", folder.path().join("socket").display())).unwrap();
    server.prefix.clone_into(&mut nowhere.prefix);
    let keel = builder.connect_lazy_with(nowhere).await.unwrap();
    let away = rows(&keel).await;
    let mut deferred = BTreeSet::new();
    for number in 0..10 {
        let key = format!("{number}{}", "k".repeat(*round.one(&[0, 1, 100, 300, 70_000])));
        assert_eq!(read(&elsewhere, &key, "old").await, "old");
        let call = format!("invalidate a key of {} bytes", key.len());
        let done = match round.number(0, 2) {
            0 => away.invalidate(&key).await,
            1 => away.invalidate_at(&key, *round.one(&[0, 1, u64::MAX])).await,
            _ => away.purge(&key).await,
        };
        // An invalidation that the spool does not take is reported as the failure of the store.
        let done = round.result(call, done, |error| matches!(error, CacheError::Link(error) if error.is_retryable()));
        if let Some(done) = done {
            assert_eq!(done, Invalidated::Deferred);
            deferred.insert(key);
        }
    }
    let spool = keel.spool().unwrap().clone();
    assert_eq!(spool.stats().pending, deferred.len());
    spool.close().await.unwrap();
    drop((away, keel, spool));
    let next = Keel::builder().spool(folder.path(), options).await.unwrap().connect(&url).await.unwrap();
    let _replays = rows(&next).await;
    while next.spool().unwrap().stats().pending > 0 {
        tokio::task::yield_now().await;
    }
    for key in &deferred {
        assert_eq!(read(&elsewhere, key, "new").await, "new", "a key of {} bytes", key.len());
        round.checked(1);
    }
}
