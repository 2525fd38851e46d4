//! What must have arrived, and what operators must see, before and after the sinks are mended.

use super::{ROWS, Sent, Shop};
use crate::robustness::Round;
use crate::sql::relay::hostile::{HostileSink, How, Mode};
use evenkeel::sql::relay::operate::{ParkedDecision, SeenKey, SeenWork, WorkState};
use std::collections::{BTreeMap, BTreeSet};

/// Topic and name of a key.
type Name = (String, String);

/// Whether a failed message uses an attempt.
fn counts(how: How) -> bool {
    !matches!(how, How::Accepts | How::Held | How::Away | How::Busy)
}

/// Whether its sink calls itself unavailable because of this message. Then the other messages of the same unit of work may wait, too.
fn is_unavailable(how: How) -> bool {
    matches!(how, How::Away | How::Busy)
}

impl Shop {
    async fn parked_works(&self) -> Vec<SeenWork> {
        self.outbox.units(WorkState::Parked, None, 10_000).await.unwrap()
    }

    async fn keys(&self, only_parked: bool) -> Vec<SeenKey> {
        self.outbox.keys(only_parked, (String::new(), String::new()), 10_000).await.unwrap()
    }

    /// Messages of sinks that look at each message.
    fn by_message(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| self.sinks[sent.sink].mode() == Mode::ByMessage)
    }

    /// The first message of each key at which its sink fails.
    fn first_bad(&self) -> BTreeMap<Name, &Sent> {
        let mut first = BTreeMap::new();
        for sent in self.by_message().filter(|sent| sent.how != How::Accepts) {
            if let Some(name) = sent.name() {
                first.entry(name).or_insert(sent);
            }
        }
        first
    }

    /// Units of work with a message without a key that its sink does not accept.
    fn bad_works(&self) -> BTreeSet<[u8; 16]> {
        let bad = self.by_message().filter(|sent| sent.key.is_none() && counts(sent.how));
        bad.map(|sent| sent.work.0).collect()
    }

    /// Units of work that wait for a sink that calls itself unavailable because of one of their messages.
    fn away_works(&self) -> BTreeSet<[u8; 16]> {
        let away = self.by_message().filter(|sent| sent.key.is_none() && is_unavailable(sent.how));
        away.map(|sent| sent.work.0).collect()
    }

    /// The keys to be parked, and how far their messages are sent by then.
    fn bad_keys(&self) -> BTreeMap<Name, u64> {
        let bad = self.first_bad().into_iter().filter(|(_, sent)| counts(sent.how));
        bad.map(|(name, sent)| (name, sent.sequence - 1)).collect()
    }

    /// What does not wait for a message at which a sink fails, and has not arrived; and what is not parked yet.
    pub(super) async fn before_mending(&self) -> Vec<String> {
        let (first_bad, away) = (self.first_bad(), self.away_works());
        let mut missing = self.missing(|sent| {
            if sent.key.is_none() && away.contains(&sent.work.0) {
                return false;
            }
            let first = sent.name().and_then(|name| first_bad.get(&name));
            let is_first = first.is_none_or(|bad| sent.sequence < bad.sequence);
            self.sinks[sent.sink].mode() == Mode::ByMessage && sent.how == How::Accepts && is_first
        });
        let works: BTreeSet<[u8; 16]> = self.parked_works().await.iter().map(|work| work.id.0).collect();
        let unparked = self.bad_works().into_iter().filter(|work| !works.contains(work) && !away.contains(work));
        missing.extend(unparked.map(|id| format!("unit of work {id:02x?} is not parked")));
        let keys: BTreeSet<Name> = self.keys(true).await.into_iter().map(|key| (key.topic, key.key)).collect();
        missing.extend(self.bad_keys().into_keys().filter(|name| !keys.contains(name)).map(|name| format!("{name:?}")));
        missing
    }

    /// Nothing else is parked, and each row has its attempts and its error.
    pub(super) async fn is_seen_by_operators(&self, round: &Round) {
        let works = self.parked_works().await;
        let (parked, bad) = (works.iter().map(|work| work.id.0).collect::<BTreeSet<_>>(), self.bad_works());
        assert!(parked.is_subset(&bad), "{parked:02x?} are parked, {bad:02x?} have failed");
        for work in &works {
            assert_eq!(work.attempts, self.attempts_max, "{work:?}");
            assert!(
                work.error.as_ref().is_some_and(|error| error.len() < 5_000) && !work.effects.is_empty(),
                "{work:?}"
            );
        }
        let keys = self.keys(true).await;
        let sent = keys.iter().map(|key| ((key.topic.clone(), key.key.clone()), key.sent)).collect::<BTreeMap<_, _>>();
        assert_eq!(sent, self.bad_keys());
        for key in &keys {
            assert!((1..=self.attempts_max).contains(&key.attempts) && key.last > key.sent, "{key:?}");
            assert!(key.error.is_some() && key.parked_ms.is_some() && key.due_ms.is_none(), "{key:?}");
        }
        // An unavailable sink uses no attempts.
        let is_unavailable = |key: &&SeenKey| {
            let sink = self.sent.iter().find(|sent| sent.topic() == key.topic).map(|sent| sent.sink);
            sink.is_some_and(|sink| self.sinks[sink].mode() != Mode::ByMessage)
        };
        for key in self.keys(false).await.iter().filter(is_unavailable) {
            assert!(key.attempts == 0 && key.parked_ms.is_none(), "{key:?}");
        }
        let stats = self.outbox.stats().await.unwrap();
        assert_eq!((stats.parked, stats.keys_parked), (works.len() as u64, keys.len() as u64));
        round.checked(2 + stats.parked + stats.keys_parked);
    }

    /// The sinks accept everything from now on, and an operator releases what is parked.
    pub(super) async fn mend(&mut self, round: &mut Round) {
        self.sinks.iter().for_each(HostileSink::mend);
        for work in self.parked_works().await {
            let how = *round.one(&[ParkedDecision::Resend, ParkedDecision::Resend, ParkedDecision::Skip]);
            round.step(format!("{how:?} of the unit of work {}", work.id));
            if how == ParkedDecision::Skip {
                self.skip(|sent| sent.key.is_none() && sent.work == work.id);
            }
            assert!(self.outbox.release(work.id, how).await.unwrap());
            assert!(!self.outbox.release(work.id, how).await.unwrap(), "once");
        }
        for SeenKey { topic, key, sent: last, .. } in self.keys(true).await {
            let how = *round.one(&[ParkedDecision::Resend, ParkedDecision::Resend, ParkedDecision::Skip]);
            round.step(format!("{how:?} of {key} of {topic}"));
            if how == ParkedDecision::Skip {
                let name = Some((topic.clone(), key.clone()));
                self.skip(|sent| sent.name() == name && sent.sequence == last + 1);
            }
            assert!(self.outbox.release_key(&topic, &key, how).await.unwrap());
            assert!(!self.outbox.release_key(&topic, &key, how).await.unwrap(), "once");
        }
    }

    /// Those of these that have not arrived never will.
    fn skip(&mut self, given_up: impl Fn(&Sent) -> bool) {
        for sent in &mut self.sent {
            let has_arrived = self.sinks[sent.sink].taken().iter().any(|taken| taken.number == sent.number);
            sent.is_skipped |= given_up(sent) && !has_arrived;
        }
    }

    /// Nothing waits, everything arrived as it was sent and in its order, and the other effects are carried out.
    pub(super) async fn is_done(&mut self, round: &Round) {
        let waits = async |shop: &Self| {
            let stats = shop.outbox.stats().await.unwrap();
            let waits = stats.waiting + stats.parked + stats.messages + stats.keys_waiting + stats.keys_parked > 0;
            if waits { vec![format!("{stats:?}")] } else { Vec::new() }
        };
        self.until(round, waits).await;
        for (number, sink) in self.sinks.iter().enumerate() {
            let mut last = BTreeMap::new();
            for taken in sink.taken() {
                let sent = self.sent.iter().find(|sent| sent.number == taken.number);
                let sent = sent.unwrap_or_else(|| panic!("{taken:?} was rolled back"));
                assert!(!sent.is_skipped, "{taken:?} was given up");
                let (key, topic) = (sent.key.clone(), sent.topic());
                assert_eq!((number, &key, &topic, sent.bytes), (sent.sink, &taken.key, &taken.topic, taken.bytes));
                if let Some(name) = sent.name() {
                    let before = last.insert(name, sent.sequence).unwrap_or(0);
                    assert!(before < sent.sequence, "{taken:?} arrived after message {before} of its key");
                }
                round.checked(1);
            }
        }
        for job in &self.jobs {
            assert!(self.seen_mail.find(job).await.unwrap().is_some(), "job {job} was not enqueued");
        }
        for (row, value) in (0..ROWS).zip(self.rows) {
            assert_eq!(self.seen(row).await, value, "row {row} was not invalidated");
        }
        round.checked(self.jobs.len() as u64 + ROWS);
    }
}
