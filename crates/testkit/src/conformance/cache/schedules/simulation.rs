//! The row, the network, and what happens next.

use super::Writing;
use super::actors::{Call, Loader, Message, Writer};
use super::replicas::{Commits, LAGS_MS, Row};
use crate::conformance::cache::Backend;
use crate::conformance::cache::player::{
    LAG_MS, LEASE_MS, LIFE_MS, RETAIN_MS, SOFT_MS, SUSPECT_MS, WINDOW_MS, asked, expiring, opening,
};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::cache::header::{Entry, Verdict};
use evenkeel_protocol::cache::steps::{Begun, CacheSteps, Generation, Grant, Invalidation, Leased, Mode, Why};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;

const KEY: &[u8] = b"row";
const LOADERS: usize = LAGS_MS.len();
const WRITERS: usize = 3;
/// More messages than this are not on the way at once.
const MESSAGES_MAX: usize = 12;
/// What a failure shows of the past.
const HISTORY_MAX: usize = 60;

pub(super) struct Simulation<'a, B> {
    backend: &'a B,
    writing: Writing,
    seed: u64,
    random: StdRng,
    /// The version of the row, in the database.
    row: u64,
    commits: Commits,
    /// The newest version of which a writer was answered that it is known.
    known: u64,
    loaders: [Loader; LOADERS],
    writers: [Writer; WRITERS],
    network: Vec<Message>,
    /// Earlier bytes, for a failover to restore.
    replicated: Option<Bytes>,
    served: usize,
    past: VecDeque<String>,
}

impl<'a, B: Backend> Simulation<'a, B> {
    pub(super) fn new(backend: &'a B, writing: Writing, seed: u64) -> Self {
        Self {
            backend,
            writing,
            seed,
            random: StdRng::seed_from_u64(seed),
            row: 1,
            commits: Commits::default(),
            known: 0,
            loaders: std::array::from_fn(|_| Loader::Idle),
            writers: std::array::from_fn(|_| Writer::Idle),
            network: Vec::new(),
            replicated: None,
            served: 0,
            past: VecDeque::new(),
        }
    }

    pub(super) async fn play(mut self, steps: usize) -> usize {
        for _ in 0..steps {
            let full = self.network.len() >= MESSAGES_MAX;
            match self.random.random_range(0..100) {
                0..30 if !full => self.load(),
                30..38 if !full => self.write(),
                38..90 => self.deliver().await,
                90..96 => self.pass_time().await,
                _ => self.disturb().await,
            }
            self.look().await;
        }
        self.served
    }

    /// One loader takes its next step.
    fn load(&mut self) {
        let from = self.random.random_range(0..LOADERS);
        self.loaders[from] = match self.loaders[from].clone() {
            Loader::Idle => {
                let why = [Why::Miss, Why::Refresh, Why::Stale][self.random.random_range(0..3)];
                let mut lease = asked(why);
                (lease.token, lease.generation) = (self.token(), self.generation());
                if self.writing == Writing::InvalidateOnReplicas {
                    lease.lag_ms_max = LAGS_MS[from];
                }
                self.send(from, Call::Lease(lease.clone()));
                Loader::Asking(lease.token)
            }
            asking @ Loader::Asking(_) => asking,
            Loader::Granted(token, grant) => {
                let row = self.read(from, grant);
                self.note(format!("loader {from} reads {row:?}"));
                Loader::Loaded(token, grant, row)
            }
            Loader::Loaded(token, ..) if self.random.random_bool(0.1) => {
                self.send(from, Call::Abandon(token));
                Loader::Idle
            }
            Loader::Loaded(_, grant, row) => {
                let knows_versions = self.knows();
                self.send(from, Call::Fill(row.fill(grant, knows_versions)));
                Loader::Idle
            }
        };
    }

    /// One writer takes its next step.
    fn write(&mut self) {
        let from = self.random.random_range(0..WRITERS);
        self.writers[from] = match self.writers[from].clone() {
            Writer::Idle if self.writing != Writing::Window => self.commit(from, None),
            Writer::Idle => {
                let mut begin = opening(self.token());
                begin.invalidation = self.invalidation();
                self.send(from, Call::Begin(begin.clone()));
                Writer::Beginning(begin.token)
            }
            Writer::Open(token, until_ms) if self.backend.now_ms() < until_ms && self.random.random_bool(0.8) => {
                self.commit(from, Some(token))
            }
            Writer::Open(token, _) => Writer::RolledBack(token),
            Writer::Committed(window, version) => {
                let floor = self.knows().then_some(version);
                let invalidation = Invalidation { floor, ..self.invalidation() };
                self.send(
                    from,
                    window.map_or(Call::Invalidate(invalidation.clone()), |token| Call::End(token, invalidation)),
                );
                Writer::Invalidating(Some(version))
            }
            Writer::RolledBack(token) => {
                let invalidation = self.invalidation();
                self.send(from, Call::End(token, invalidation));
                Writer::Invalidating(None)
            }
            waiting @ (Writer::Beginning(_) | Writer::Invalidating(_)) => waiting,
        };
    }

    fn commit(&mut self, from: usize, window: Option<Token>) -> Writer {
        self.row += 1;
        self.commits.add(self.backend.now_ms(), self.row);
        self.note(format!("writer {from} commits version {}", self.row));
        Writer::Committed(window, self.row)
    }

    /// One message arrives. A copy may stay on the way; the answer may be lost, and then the sender sends it again.
    async fn deliver(&mut self) {
        if self.network.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.network.len());
        let message = self.network[at].clone();
        if !self.random.random_bool(0.1) {
            self.network.swap_remove(at);
        }
        let answered = !self.random.random_bool(0.1);
        let Message { from, call } = message;
        let words = self.call(from, &call, answered).await;
        self.note(format!("arrives from {from}{}: {call:?} -> {words}", if answered { "" } else { ", answer lost" }));
        if !answered {
            self.network.push(Message { from, call });
        }
    }

    async fn call(&mut self, from: usize, call: &Call, answered: bool) -> String {
        let steps = self.backend.steps();
        match call {
            Call::Lease(lease) => {
                let leased = steps.lease(KEY, lease).await.unwrap();
                if answered && matches!(&self.loaders[from], Loader::Asking(token) if *token == lease.token) {
                    self.loaders[from] = match leased {
                        Leased::Granted(grant) => Loader::Granted(lease.token, grant),
                        _ => Loader::Idle,
                    };
                }
                format!("{leased:?}")
            }
            Call::Fill(fill) => format!("{:?}", steps.fill(KEY, fill).await.unwrap()),
            Call::Abandon(token) => format!("{:?}", steps.abandon(KEY, *token, LEASE_MS / 2).await.unwrap()),
            Call::Invalidate(invalidation) => {
                steps.invalidate(KEY, invalidation).await.unwrap();
                self.replied(from, answered);
                "done".to_owned()
            }
            Call::Begin(begin) => {
                let begun = steps.begin_write(KEY, begin).await.unwrap();
                if answered && matches!(&self.writers[from], Writer::Beginning(token) if *token == begin.token) {
                    self.writers[from] = match begun {
                        Begun::Open { remaining_ms } => Writer::Open(begin.token, self.backend.now_ms() + remaining_ms),
                        Begun::Busy { .. } => Writer::Idle,
                    };
                }
                format!("{begun:?}")
            }
            Call::End(token, invalidation) => {
                let ended = steps.end_write(KEY, *token, invalidation).await.unwrap();
                self.replied(from, answered);
                format!("{ended:?}")
            }
        }
    }

    /// A writer's reply has arrived. (The reply to a copy of an older call of its own does not mislead it: its invalidation
    /// is sent once per version, after the commit.)
    fn replied(&mut self, from: usize, answered: bool) {
        let Writer::Invalidating(version) = self.writers[from] else { return };
        let own_is_on_the_way = self
            .network
            .iter()
            .any(|message| message.from == from && matches!(message.call, Call::Invalidate(_) | Call::End(..)));
        if answered && !own_is_on_the_way {
            self.known = self.known.max(version.unwrap_or(0));
            self.writers[from] = Writer::Idle;
        }
    }

    async fn pass_time(&mut self) {
        let spans = [1_000, LEASE_MS / 2, LEASE_MS, WINDOW_MS, RETAIN_MS, SUSPECT_MS, LIFE_MS, SOFT_MS];
        // Short spans are the usual ones: what is on the way must arrive in the middle of everything.
        let most = if self.random.random_bool(0.8) { 2 } else { spans.len() };
        let span_ms = spans[self.random.random_range(0..most)];
        self.backend.advance(span_ms).await;
        self.note(format!("{span_ms} ms pass"));
    }

    async fn disturb(&mut self) {
        if self.writing == Writing::Window {
            return;
        }
        match self.random.random_range(0..3) {
            0 => {
                self.evict().await;
                self.note("evicted".to_owned());
            }
            1 => self.replicated = self.backend.steps().read(KEY).await.unwrap(),
            _ => self.fail_over().await,
        }
    }

    /// This takes a millisecond: a copy of a lease within the same one would recreate the entry as it was, as
    /// docs/guarantees.md says under C1.
    async fn evict(&mut self) {
        self.backend.evict(KEY).await;
        self.backend.advance(1).await;
    }

    /// The last write is lost; acknowledged invalidations are replayed before the next read.
    async fn fail_over(&mut self) {
        match self.replicated.take() {
            Some(bytes) => self.backend.put(KEY, bytes).await,
            None => self.evict().await,
        }
        self.note("failed over".to_owned());
        let driven_again = self.invalidation();
        self.backend.steps().invalidate(KEY, &driven_again).await.unwrap();
    }

    /// What a reader would be served now.
    async fn look(&mut self) {
        let Some(bytes) = self.backend.steps().read(KEY).await.unwrap() else { return };
        let entry = Entry::parse(bytes).unwrap();
        if !matches!(entry.header.verdict(self.backend.now_ms()), Verdict::Hit | Verdict::Due) {
            return;
        }
        self.served += 1;
        let version: u64 = std::str::from_utf8(&entry.payload).unwrap().parse().unwrap();
        let oldest = if self.writing == Writing::Window { self.row } else { self.known };
        assert!(
            version >= oldest,
            "{:?}, seed {}: version {version} is served, {oldest} is known\n{}",
            self.writing,
            self.seed,
            self.past.make_contiguous().join("\n")
        );
    }

    fn send(&mut self, from: usize, call: Call) {
        self.network.push(Message { from, call });
    }

    fn invalidation(&mut self) -> Invalidation {
        let mode = if self.random.random_bool(0.3) { Mode::Purge } else { expiring().mode };
        let lag_ms_max = if self.knows() { LAG_MS } else { 0 };
        Invalidation { generation: self.generation(), mode, lag_ms_max, ..expiring() }
    }

    fn read(&mut self, from: usize, grant: Grant) -> Row {
        match self.writing {
            Writing::InvalidateOnReplicas => {
                self.commits.read(self.row, LAGS_MS[from], grant, self.backend.now_ms(), &mut self.random)
            }
            Writing::Invalidate | Writing::Window => Row::newest(self.row),
        }
    }

    /// Whether an actor has a setting that others lack.
    fn knows(&mut self) -> bool {
        self.writing == Writing::InvalidateOnReplicas && self.random.random_bool(0.5)
    }

    fn token(&mut self) -> Token {
        Token::from(self.random.random::<[u8; 16]>())
    }

    fn generation(&mut self) -> Generation {
        Generation(self.random.random())
    }

    fn note(&mut self, what: String) {
        if self.past.len() == HISTORY_MAX {
            self.past.pop_front();
        }
        self.past.push_back(what);
    }
}
