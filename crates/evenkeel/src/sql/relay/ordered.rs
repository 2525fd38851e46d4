//! The ordered lane: claims keys, sends what comes next of each in one go, and moves the key's row on as far as the sink has
//! confirmed. The trouble of one key stops that key only.

use super::core::{Core, Looked};
use super::gate::Gate;
use super::keys::{self, ClaimedKey, KEYS_MAX, KeyName, OrderedRow, Settled, Span, Then};
use super::metrics::Lane;
use super::rows::short;
use super::settings::{AGAIN, AWAY, ms};
use crate::clock::Moment;
use crate::crash::crash_point;
use crate::guard::guard;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::outbox::format;
use crate::sql::sink::{Confirmed, Envelope, Order, SinkError};
use crate::token::Token;
use std::collections::HashMap;
use std::time::Duration;

/// The lane of one relay.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// By the number of the route.
    gates: HashMap<usize, Gate>,
    /// What could not be written down yet, because somebody had locked the keys or the database did not take it; for as long as
    /// their claims hold.
    unsettled: Vec<Unsettled>,
}

/// What became of keys under one claim, and until when that holds.
type Unsettled = (Moment, Token, Vec<Settled>);

type Answer = Result<Confirmed, SinkError>;

impl Ordered {
    /// Claims some keys and sends what comes next of each.
    pub(super) async fn run_once<DB: Database>(&mut self, core: &Core<DB>) -> Result<Looked, SqlError> {
        let settings = &core.settings;
        if let Some(left) = self.closed_for(core) {
            return Ok(Looked::idle(left));
        }
        self.settle_again(core).await?;
        let mut connection = core.connection().await?;
        match core.within(keys::next_ms::<DB>(&mut connection)).await? {
            Some(0) => {}
            next => {
                let next = next.map_or(settings.poll.delay_max, Duration::from_millis);
                return Ok(Looked::idle(if self.unsettled.is_empty() { next } else { next.min(AGAIN) }));
            }
        }
        let source = core.source(&mut connection).await?;
        let (token, until) = (Token::random(), core.clock().now() + settings.lease);
        let mut claimed = Vec::new();
        let limit = self.limit(core);
        let claim = keys::claim(&mut connection, token, limit, ms(settings.lease), &mut claimed);
        if let Err(error) = core.within(claim).await {
            // Its answer may have been lost.
            self.give_back((until, token), &claimed);
            return Err(error);
        }
        crash_point("relay_claimed");
        let (open, mut settled) = self.sort(core, &claimed);
        let spans = spans(&open, settings.batch);
        let rows = match core.within(keys::messages::<DB>(&mut connection, &spans)).await {
            Ok(rows) => rows,
            Err(error) => {
                self.give_back((until, token), &claimed);
                return Err(error);
            }
        };
        // Nobody's connection is held while the sink is talked to.
        drop(connection);
        let runs = runs(&open, rows);
        let readable: Vec<Vec<Envelope>> =
            runs.iter().map(|run| run.iter().map_while(|row| envelope(row, &source).ok()).collect()).collect();
        let answers = self.publish(core, &readable.concat()).await;
        crash_point("relay_published");
        let mut answers = answers.into_iter();
        let mut looked = Looked { waiting: settled.len(), ..Looked::default() };
        for ((key, run), readable) in open.iter().zip(&runs).zip(&readable) {
            let mut answers: Vec<Answer> = answers.by_ref().take(readable.len()).collect();
            if readable.len() < run.len() {
                answers.push(Err(SinkError::Poison("its headers cannot be read".to_owned())));
            }
            settled.push(self.judge(core, key, &answers, &mut looked));
        }
        let written = self.settle(core, (until, token, settled)).await;
        self.report(core, &looked);
        written.map(|()| looked)
    }

    /// What a look had claimed that failed is free again as soon as the database takes that.
    fn give_back(&mut self, (until, token): (Moment, Token), claimed: &[ClaimedKey]) {
        if !claimed.is_empty() && guard("relay_gives_back_claims") {
            let untouched = claimed.iter().map(|key| Settled { sent: nothing(key), then: Then::Go });
            self.unsettled.push((until, token, untouched.collect()));
        }
    }

    /// How long nothing can be sent at all; `None` if there is somebody to send to.
    fn closed_for<DB: Database>(&self, core: &Core<DB>) -> Option<Duration> {
        let now = core.clock().now();
        let left = (0..core.sinks.prefixes().count())
            .map(|route| self.gates.get(&route).and_then(|gate| gate.closed_for(now)));
        // Without any sink this process leaves messages to those that have one.
        left.min().unwrap_or(Some(core.settings.poll.delay_max))
    }

    /// As long as the only sink is in doubt one key is enough to ask with.
    fn limit<DB: Database>(&self, core: &Core<DB>) -> usize {
        let in_doubt = self.gates.values().filter(|gate| gate.is_in_doubt()).count();
        if in_doubt == core.sinks.prefixes().count() { 1 } else { KEYS_MAX.min(core.settings.batch) }
    }

    /// Those that can be sent now, and what becomes of the others.
    fn sort<DB: Database>(&self, core: &Core<DB>, claimed: &[ClaimedKey]) -> (Vec<ClaimedKey>, Vec<Settled>) {
        let now = core.clock().now();
        let (mut open, mut settled) = (Vec::new(), Vec::new());
        for key in claimed {
            let wait = match core.sinks.route_of(&key.name.topic) {
                None => Some((core.settings.poll.delay_max, "no sink of this program takes the topic")),
                Some(route) => {
                    self.gates.get(&route).and_then(|gate| gate.closed_for(now)).map(|left| (left, "the sink is away"))
                }
            };
            match wait {
                None => open.push(key.clone()),
                Some((pause, error)) => {
                    let then = Then::Wait { pause_ms: ms(pause), error: error.to_owned() };
                    settled.push(Settled { sent: nothing(key), then });
                }
            }
        }
        (open, settled)
    }

    async fn publish<DB: Database>(&mut self, core: &Core<DB>, envelopes: &[Envelope]) -> Vec<Answer> {
        if envelopes.is_empty() {
            return Vec::new();
        }
        let answers = match core.clock().timeout(core.settings.deadline, core.sinks.publish_all(envelopes)).await {
            Ok(answers) => answers,
            Err(_) => vec![Err(SinkError::Away("no answer in time".to_owned())); envelopes.len()],
        };
        let mut taken: HashMap<usize, bool> = HashMap::new();
        for (envelope, answer) in envelopes.iter().zip(&answers) {
            if let Some(route) = core.sinks.route_of(&envelope.topic)
                && !matches!(answer, Err(SinkError::Held))
            {
                *taken.entry(route).or_default() |= !answer.as_ref().is_err_and(SinkError::is_away);
            }
        }
        for (route, taken) in taken {
            let gate = self.gates.entry(route).or_default();
            if taken {
                gate.opened();
            } else {
                gate.closed(core.clock().now());
                tracing::warn!(error = ?answers.iter().find_map(|answer| answer.as_ref().err()), "a sink is away; its messages wait");
            }
        }
        let duplicates = answers.iter().filter(|answer| **answer == Ok(Confirmed::Duplicate)).count();
        core.metrics.duplicates.increment(duplicates as u64);
        answers
    }

    /// What follows for a key from the answers to its messages.
    fn judge<DB: Database>(
        &self,
        core: &Core<DB>,
        key: &ClaimedKey,
        answers: &[Answer],
        looked: &mut Looked,
    ) -> Settled {
        let confirmed = if guard("relay_stops_at_a_failure") {
            answers.iter().take_while(|answer| answer.is_ok()).count()
        } else {
            answers.iter().rposition(|answer| answer.is_ok()).map_or(0, |last| last + 1)
        };
        looked.sent += confirmed;
        let sent = Span { until: key.sent + confirmed as u64, ..nothing(key) };
        let attempts_before = if confirmed > 0 { 0 } else { key.attempts };
        let error = match answers.get(confirmed) {
            Some(Err(error)) => error.clone(),
            // A message that its key has counted is not there: somebody has deleted it.
            None if answers.is_empty() && key.last > key.sent => {
                SinkError::Retry(format!("message {} of the key is missing in evenkeel_outbox_ordered", key.sent + 1))
            }
            _ => return Settled { sent, then: Then::Go },
        };
        let words = short(&error.to_string());
        let then = match error {
            SinkError::Away(_) | SinkError::Busy(_) | SinkError::Held if guard("relay_away_is_no_attempt") => {
                looked.waiting += 1;
                Then::Wait { pause_ms: ms(AWAY.delay(3)), error: words }
            }
            error => {
                let attempts = u32::try_from(attempts_before + 1).unwrap_or(u32::MAX);
                let is_last = error.is_poison() || attempts >= core.settings.attempts_max;
                if is_last && guard("relay_parks") {
                    looked.parked += 1;
                    let KeyName { topic, key: name } = &key.name;
                    tracing::error!(
                        topic,
                        key = name,
                        sequence = sent.until + 1,
                        attempts,
                        error = words,
                        "a key is parked: see `evenkeel outbox park ls`"
                    );
                    Then::Park { error: words }
                } else {
                    looked.failed += 1;
                    Then::Fail { pause_ms: ms(core.settings.backoff.delay(attempts - 1)), error: words }
                }
            }
        };
        Settled { sent, then }
    }

    /// Writes down what became of keys. What somebody has locked, or the database did not take, is kept for the next look.
    async fn settle<DB: Database>(&mut self, core: &Core<DB>, unsettled: Unsettled) -> Result<(), SqlError> {
        let (until, token, settled) = &unsettled;
        let count = |keys: &[Settled]| keys.iter().map(|key| key.sent.until - key.sent.after).sum::<u64>();
        let written = match core.connection().await {
            Ok(mut connection) => core.within(keys::settle(&mut connection, *token, settled)).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(others) => {
                core.metrics.sent.increment(count(settled) - count(&others));
                if !others.is_empty() {
                    self.unsettled.push((*until, *token, others));
                }
                Ok(())
            }
            Err(error) => {
                if guard("relay_settles_again") {
                    self.unsettled.push(unsettled);
                }
                Err(error)
            }
        }
    }

    async fn settle_again<DB: Database>(&mut self, core: &Core<DB>) -> Result<(), SqlError> {
        let now = core.clock().now();
        let mut outcome = Ok(());
        for unsettled in std::mem::take(&mut self.unsettled) {
            if now >= unsettled.0 {
                // Somebody else has claimed these keys; what was sent is sent again, and told apart by its sequence.
                core.metrics.fenced.increment(unsettled.2.len() as u64);
            } else if outcome.is_ok() {
                outcome = self.settle(core, unsettled).await;
            } else {
                self.unsettled.push(unsettled);
            }
        }
        outcome
    }

    fn report<DB: Database>(&self, core: &Core<DB>, looked: &Looked) {
        core.metrics.gate(Lane::Keys, self.gates.values().any(Gate::is_in_doubt));
        for (reason, keys) in [("away", looked.waiting), ("failed", looked.failed), ("parked", looked.parked)] {
            if keys > 0 {
                core.metrics.failed(Lane::Keys, reason, keys);
            }
        }
    }
}

fn nothing(key: &ClaimedKey) -> Span {
    Span { name: key.name.clone(), after: key.sent, until: key.sent }
}

/// How many messages of each key are sent in one go.
fn spans(keys: &[ClaimedKey], batch: usize) -> Vec<Span> {
    let run = (batch / keys.len().max(1)).max(1) as u64;
    keys.iter().map(|key| Span { until: key.last.min(key.sent.saturating_add(run)), ..nothing(key) }).collect()
}

/// The messages of each key that follow each other without a hole, beginning with the one after the last that was sent.
fn runs(keys: &[ClaimedKey], rows: Vec<OrderedRow>) -> Vec<Vec<OrderedRow>> {
    let mut by_key: HashMap<KeyName, Vec<OrderedRow>> = HashMap::new();
    for row in rows {
        by_key.entry(row.name.clone()).or_default().push(row);
    }
    let run = |key: &ClaimedKey| {
        let rows = by_key.remove(&key.name).unwrap_or_default();
        let next = (key.sent + 1)..;
        let in_turn = |(row, next): &(OrderedRow, u64)| row.sequence == *next || !guard("relay_contiguous");
        rows.into_iter().zip(next).take_while(in_turn).map(|(row, _)| row).collect()
    };
    keys.iter().map(run).collect()
}

fn envelope(row: &OrderedRow, source: &str) -> Result<Envelope, SqlError> {
    let KeyName { topic, key } = &row.name;
    Ok(Envelope {
        source: source.to_owned(),
        id: format!("{source}/{}/{topic}/{key}/{}", topic.len(), row.sequence),
        topic: topic.clone(),
        order: Some(Order { key: key.clone(), sequence: row.sequence }),
        payload: row.payload.clone().into(),
        headers: format::decode_headers(row.headers.clone())?.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(sent: u64, last: u64) -> ClaimedKey {
        let name = KeyName { topic: "links".to_owned(), key: "a".to_owned() };
        ClaimedKey { name, sent, last, attempts: 0 }
    }

    fn row(sequence: u64) -> OrderedRow {
        OrderedRow { name: key(0, 0).name, sequence, payload: Vec::new(), headers: Vec::new() }
    }

    #[test]
    fn what_follows_a_hole_waits() {
        let sequences = |rows: Vec<OrderedRow>| {
            let runs = runs(&[key(3, 9)], rows);
            runs[0].iter().map(|row| row.sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(vec![row(4), row(5), row(7)]), [4, 5]);
        assert!(sequences(vec![row(5), row(6)]).is_empty());
        assert!(sequences(Vec::new()).is_empty());
    }

    #[test]
    fn a_batch_is_shared_by_its_keys() {
        let span =
            |keys: &[ClaimedKey]| spans(keys, 10).iter().map(|span| (span.after, span.until)).collect::<Vec<_>>();
        assert_eq!(span(&[key(3, 90)]), [(3, 13)]);
        assert_eq!(span(&[key(3, 4), key(0, 90)]), [(3, 4), (0, 5)]);
        assert_eq!(spans(&vec![key(0, 9); 20], 10)[0].until, 1);
    }
}
