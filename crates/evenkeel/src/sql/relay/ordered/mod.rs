//! The worker for ordered messages: claims keys, sends the next messages of each in one call, and advances the key's row to the last
//! message that the sink confirmed. A failure stops its own key only.

#[macro_use]
mod lists;
mod keys;
mod plan;
#[cfg(feature = "stream")]
mod registered;

use super::core::{Core, PassReport};
use super::gate::Gate;
use super::metrics::Worker;
use super::rows::WAITS;
use super::settings::{LOCKED_RETRY, UNAVAILABLE};
use crate::sql::database::{Connection, PooledConnection};
use crate::sql::error::SqlError;
use crate::sql::sink::{Confirmed, Envelope, SinkError};
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{crash_point, guard, ms};
use futures_util::future::join_all;
use keys::{ClaimedKey, KEYS_MAX, KeyName, OrderedRow, Scope, Settled, Span, Then};
use plan::{envelope, next_of, nothing, runs, spans, unrouted};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// The worker of one relay.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// By the index of the route.
    gates: HashMap<usize, Gate>,
    /// Routes whose sink did not reply to a call with several keys: each key is sent alone, once, to find the one at which the sink
    /// hangs.
    one_by_one: HashSet<usize>,
    /// When the last of the keys that wait for an unavailable sink is due.
    backlog: Option<Moment>,
    /// A sink for which keys wait is available again.
    is_expediting: bool,
    /// Whether it has looked for keys that wait since before it started.
    has_looked: bool,
    /// When it last found no key that is due too far in the future.
    recalled: Option<Moment>,
    /// Results that could not be stored yet, because another transaction had locked the keys or the database was unavailable; kept
    /// until their claims expire.
    unsettled: Vec<Unsettled>,
}

/// The results of keys under one claim, and when that claim expires.
type Unsettled = (Moment, Token, Vec<Settled>);

type Answer = Result<Confirmed, SinkError>;

impl Ordered {
    /// Makes keys due that would wait for too long: those that another process has given back, and those of a clock that was set back.
    async fn bring_forward(&mut self, core: &Core, connection: &mut PooledConnection) -> Result<(), SqlError> {
        // At the start, because the process that gave keys back may have died before it could expedite them.
        if self.is_expediting || !self.has_looked {
            self.is_expediting = core.within(keys::expedite(connection)).await? > 0;
            self.has_looked = true;
        }
        let (now, settings) = (core.clock().now(), &core.settings);
        if settings.recalls(self.recalled, now) {
            let recall = keys::recall(connection, ms(settings.far()), ms(settings.key_lease()));
            self.recalled = (core.within(recall).await? == 0).then_some(now);
        }
        Ok(())
    }

    /// Claims some keys and sends their next messages.
    pub(super) async fn run_once(&mut self, core: &Core) -> Result<PassReport, SqlError> {
        let settings = &core.settings;
        // A process without sinks leaves messages to relays that have one.
        let scope = match core.sinks.prefixes().next() {
            Some(_) => Scope::All,
            None if cfg!(feature = "stream") => Scope::Streams,
            None => return Ok(PassReport::idle(core.settings.poll.delay_max)),
        };
        self.settle_pending(core).await?;
        let mut connection = core.connection().await?;
        self.bring_forward(core, &mut connection).await?;
        match core.within(keys::next_ms(&mut *connection, scope)).await? {
            Some(0) => {}
            next => {
                let next = next.map_or(settings.poll.delay_max, Duration::from_millis);
                return Ok(PassReport::idle(if self.unsettled.is_empty() { next } else { next.min(LOCKED_RETRY) }));
            }
        }
        let source = core.source(&mut *connection).await?;
        let lease = settings.key_lease();
        let (token, until) = (Token::random(), core.clock().now() + lease);
        let mut claimed = Vec::new();
        let limit = KEYS_MAX.min(settings.batch);
        let claim = keys::claim(&mut connection, scope, token, (limit, ms(lease)), &mut claimed);
        if let Err(error) = core.within(claim).await {
            // The reply to the claim may have been lost.
            self.give_back((until, token), &claimed);
            return Err(error);
        }
        crash_point("relay_claimed");
        let read = self.read(core, &mut *connection, &mut claimed).await;
        let (open, mut settled, rows, mut report) = match read {
            Ok(read) => read,
            Err(error) => {
                self.give_back((until, token), &claimed);
                return Err(error);
            }
        };
        // No connection is held during the call to the sink.
        drop(connection);
        let left: HashSet<KeyName> = rows.iter().filter(|row| row.is_left).map(|row| row.name.clone()).collect();
        let runs = runs(&open, rows);
        let readable: Vec<Vec<Envelope>> = open
            .iter()
            .zip(&runs)
            .map(|(key, run)| run.iter().map_while(|row| envelope(row, &source, key.incarnation).ok()).collect())
            .collect();
        let was_expediting = std::mem::take(&mut self.is_expediting);
        let answers = self.publish(core, &open, &readable).await;
        crash_point("relay_published");
        for (((key, run), readable), answers) in open.iter().zip(&runs).zip(&readable).zip(answers) {
            settled.push(match answers {
                // The next message of the key did not fit into the size limit of the claim.
                _ if run.is_empty() && left.contains(&key.name) => Settled { sent: nothing(key), then: Then::Go },
                Some(mut answers) => {
                    if readable.len() < run.len() {
                        answers.push(Err(SinkError::Poison("its headers cannot be decoded".to_owned())));
                    }
                    self.classify(core, key, &answers, &mut report)
                }
                // The sink did not reply to a call with several keys: it is unknown which of them is the cause.
                None => Settled { sent: nothing(key), then: Then::Go },
            });
        }
        self.is_expediting |= was_expediting && report.sent > 0;
        let written = self.settle(core, (until, token, settled)).await;
        self.report(core, &report);
        written.map(|()| report)
    }

    /// Gives back the keys of a failed pass, as soon as the database is available.
    fn give_back(&mut self, (until, token): (Moment, Token), claimed: &[ClaimedKey]) {
        if !claimed.is_empty() && guard("relay_gives_back_claims") {
            let untouched = claimed.iter().map(|key| Settled { sent: nothing(key), then: Then::Go });
            self.unsettled.push((until, token, untouched.collect()));
        }
    }

    /// Reads the next messages of the keys that can be sent now, and decides about the others.
    async fn read(
        &mut self,
        core: &Core,
        connection: &mut Connection,
        claimed: &mut [ClaimedKey],
    ) -> Result<(Vec<ClaimedKey>, Vec<Settled>, Vec<OrderedRow>, PassReport), SqlError> {
        // The call that tests a sink should not be for the key that may have made it fail.
        claimed.sort_by_key(|key| key.attempts);
        Gate::next_in_turn(self.gates.values(), claimed);
        let mut ages = HashMap::new();
        for key in claimed.iter().filter(|key| core.routes.route_of(&key.name.topic).is_none()) {
            ages.insert(key.name.clone(), core.within(keys::age(connection, key)).await?);
        }
        let mut report = PassReport::default();
        let (open, settled) = self.sort(core, claimed, &ages, &mut report);
        let rows = core.within(keys::messages(connection, &spans(&open, core.settings.batch))).await?;
        Ok((open, settled, rows, report))
    }

    /// Selects the keys that can be sent now, and decides about the others.
    fn sort(
        &mut self,
        core: &Core,
        claimed: &[ClaimedKey],
        ages: &HashMap<KeyName, Duration>,
        report: &mut PassReport,
    ) -> (Vec<ClaimedKey>, Vec<Settled>) {
        let now = core.clock().now();
        let mut backlog = self.backlog.map_or(Duration::ZERO, |until| until.since(now));
        let (mut open, mut settled, mut asked) = (Vec::new(), Vec::new(), HashSet::new());
        for key in claimed {
            let Some(route) = core.routes.route_of(&key.name.topic) else {
                let age = ages.get(&key.name).copied().unwrap_or_default();
                settled.push(unrouted(core, key, age, &mut backlog, report));
                continue;
            };
            let gate = self.gates.get(&route);
            let wait = match gate.and_then(|gate| gate.closed_for(now)) {
                Some(left) => Some(left),
                // The call for one key tests whether the sink is available again.
                None if gate.is_some_and(Gate::is_in_doubt) && !asked.insert(route) => Some(UNAVAILABLE.delay(0)),
                None => None,
            };
            match wait {
                None => open.push(key.clone()),
                Some(pause) => {
                    report.waiting += 1;
                    let pause_ms = ms(pause.max(next_of(&mut backlog)));
                    let then = Then::Wait { pause_ms, error: format!("{WAITS}the sink is unavailable") };
                    settled.push(Settled { sent: nothing(key), then });
                }
            }
        }
        self.backlog = Some(now + backlog);
        (open, settled)
    }

    /// Sends the messages of each key: the keys of one sink in one call, but a key that has failed before in a call of its own.
    /// Returns `None` for keys whose common call got no reply.
    async fn publish(
        &mut self,
        core: &Core,
        keys: &[ClaimedKey],
        messages: &[Vec<Envelope>],
    ) -> Vec<Option<Vec<Answer>>> {
        let mut together: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut calls: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut answers: Vec<Option<Vec<Answer>>> = vec![Some(Vec::new()); keys.len()];
        for (place, key) in keys.iter().enumerate() {
            let Some(route) = core.routes.route_of(&key.name.topic).filter(|_| !messages[place].is_empty()) else {
                continue;
            };
            if key.attempts > 0 || self.one_by_one.contains(&route) {
                calls.push((route, vec![place]));
            } else {
                together.entry(route).or_default().push(place);
            }
        }
        self.one_by_one.clear();
        calls.extend(together);
        let deadline = core.settings.deadline;
        let sent = calls.into_iter().map(async |(route, places)| {
            let all: Vec<Envelope> = places.iter().flat_map(|place| messages[*place].iter().cloned()).collect();
            let answers = core.clock().timeout(deadline, core.routes.publish_all(&all)).await;
            (route, places, answers.ok())
        });
        let mut taken: HashMap<usize, bool> = HashMap::new();
        for (route, places, answer) in join_all(sent).await {
            let is_alone = places.len() == 1;
            let Some(answer) = answer else {
                let text = format!("the sink did not reply within {deadline:?}; the call was dropped");
                if is_alone {
                    taken.entry(route).or_default();
                } else {
                    tracing::warn!(
                        error = text,
                        keys = places.len(),
                        "a sink hangs; each key is sent in a call of its own now"
                    );
                    self.one_by_one.insert(route);
                }
                let hangs = guard("relay_counts_hangs");
                let error = if hangs { SinkError::Retry(text) } else { SinkError::Unavailable(text) };
                for place in places {
                    answers[place] = is_alone.then(|| vec![Err(error.clone())]);
                }
                continue;
            };
            let duplicates = answer.iter().filter(|answer| **answer == Ok(Confirmed::Duplicate)).count();
            core.metrics.duplicates.increment(duplicates as u64);
            let known = answer.iter().filter(|answer| **answer != Err(SinkError::Held));
            let takes =
                known.fold(false, |takes, answer| takes | !answer.as_ref().is_err_and(SinkError::is_unavailable));
            *taken.entry(route).or_default() |= takes;
            let mut answer = answer.into_iter();
            for place in places {
                answers[place] = Some(answer.by_ref().take(messages[place].len()).collect());
            }
        }
        self.update_gates(core, taken);
        answers
    }

    fn update_gates(&mut self, core: &Core, taken: HashMap<usize, bool>) {
        for (route, taken) in taken {
            if taken {
                self.is_expediting |= self.gates.remove(&route).is_some();
                continue;
            }
            let gate = self.gates.entry(route).or_default();
            if !gate.is_in_doubt() {
                let route = core.routes.prefixes().nth(route);
                tracing::warn!(route, "sink unavailable; its keys wait in the outbox");
            }
            gate.close(core.clock().now());
        }
    }

    /// The result for a key, from the replies to its messages.
    fn classify(&self, core: &Core, key: &ClaimedKey, answers: &[Answer], report: &mut PassReport) -> Settled {
        let confirmed = if guard("relay_stops_at_a_failure") {
            answers.iter().take_while(|answer| answer.is_ok()).count()
        } else {
            answers.iter().rposition(|answer| answer.is_ok()).map_or(0, |last| last + 1)
        };
        report.sent += confirmed;
        let sent = Span { until: key.sent + confirmed as u64, ..nothing(key) };
        let attempts_before = if confirmed > 0 { 0 } else { key.attempts };
        let error = match answers.get(confirmed) {
            Some(Err(error)) => error.clone(),
            // The sequence was committed, but its message does not exist: it was deleted from the table.
            None if answers.is_empty() && key.last > key.sent => {
                SinkError::Retry(format!("message {} of the key is missing in evenkeel_outbox_ordered", key.sent + 1))
            }
            _ => return Settled { sent, then: Then::Go },
        };
        let text = core.short(&error.to_string());
        let then = match error {
            SinkError::Unavailable(_) | SinkError::Busy(_) | SinkError::Held if guard("relay_away_is_no_attempt") => {
                report.waiting += 1;
                Then::Wait { pause_ms: ms(UNAVAILABLE.delay(3)), error: format!("{WAITS}{text}") }
            }
            error => {
                let attempts = u32::try_from(attempts_before + 1).unwrap_or(u32::MAX);
                let is_last = error.is_poison() || attempts >= core.settings.attempts_max;
                if is_last && guard("relay_parks") {
                    report.parked += 1;
                    let KeyName { topic, key: name } = &key.name;
                    tracing::error!(
                        topic,
                        key = name,
                        sequence = sent.until + 1,
                        attempts,
                        error = text,
                        "a key is parked: see `evenkeel outbox park ls`"
                    );
                    Then::Park { error: text }
                } else {
                    report.failed += 1;
                    Then::Fail { pause_ms: ms(core.settings.backoff.delay(attempts - 1)), error: text }
                }
            }
        };
        Settled { sent, then }
    }

    /// Stores the results of keys. Those of locked keys, or all if the database is unavailable or rejects them, are kept for the next pass.
    async fn settle(&mut self, core: &Core, unsettled: Unsettled) -> Result<(), SqlError> {
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
                    let (until, token, settled) = unsettled;
                    // The database may have rejected the result of one key only: the next pass stores each by itself.
                    let together = if error.is_retryable() { settled.len().max(1) } else { 1 };
                    self.unsettled.extend(settled.chunks(together).map(|keys| (until, token, keys.to_vec())));
                }
                Err(error)
            }
        }
    }

    async fn settle_pending(&mut self, core: &Core) -> Result<(), SqlError> {
        let now = core.clock().now();
        let mut outcome: Result<(), SqlError> = Ok(());
        for unsettled in std::mem::take(&mut self.unsettled) {
            if now >= unsettled.0 {
                // Another relay has claimed these keys; their messages are sent again, and the sink detects them by their sequence.
                core.metrics.fenced.increment(unsettled.2.len() as u64);
            } else if outcome.as_ref().is_err_and(SqlError::is_retryable) {
                self.unsettled.push(unsettled);
            } else if let Err(error) = self.settle(core, unsettled).await {
                // A result that the database rejects stops no other.
                if outcome.is_ok() || error.is_retryable() {
                    outcome = Err(error);
                }
            }
        }
        outcome
    }

    fn report(&self, core: &Core, report: &PassReport) {
        core.metrics.gate(Worker::Keys, self.gates.values().any(Gate::is_in_doubt));
        core.metrics.not_done(Worker::Keys, report);
    }
}
