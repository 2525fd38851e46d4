//! [`Keeper`]: leases a worker id and reserves time, in the background.

use super::Scopes;
use super::words::Words;
use crate::id::metrics::IdMetrics;
use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Recurring, guard, ms};
use evenkeel_protocol::id::error::IdError;
use evenkeel_protocol::id::settings::Settings;
use evenkeel_protocol::id::steps::{Acquire, Call, Extend, Refused, Release, Reserved};
use evenkeel_protocol::id::{Scope, ScopeBackend};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The number of extensions per reserved time.
const TIMES: u32 = 3;
/// The least time between two extensions, if callers wait.
const GAP: Duration = Duration::from_millis(10);
/// The pause after an extension that failed.
const RETRY: Duration = Duration::from_millis(200);

pub(super) struct Keeper {
    pub(super) scope: Scope,
    pub(super) clock: Clock,
    pub(super) words: Words,
    pub(super) metrics: IdMetrics,
    /// Callers wait.
    pub(super) wanted: Notify,
    /// Counts reservations, and the release.
    pub(super) reservations: watch::Sender<u64>,
    pub(super) is_released: AtomicBool,
    /// Why the last reservation failed.
    pub(super) failure: Mutex<Option<IdError>>,
    backend: ScopeBackend,
    settings: Settings,
    /// One call at a time: a release waits for the extension before it.
    state: tokio::sync::Mutex<State>,
    failures: Recurring,
}

struct State {
    held: Held,
    own: OwnTime,
}

/// The wall clock as it was read once, advanced by a clock that is never set. Otherwise each step of the store's clock by less than an hour would be
/// accepted, and after several of them no new process.
struct OwnTime {
    unix_ms: u64,
    at: Moment,
}

/// What this process has of the scope.
enum Held {
    /// Nothing, as far as it knows: an acquisition by this owner has no reply yet.
    Nothing(Token),
    Worker {
        owner: Token,
        worker: u16,
    },
}

impl Keeper {
    pub(super) fn new(scopes: &Scopes, scope: Scope, settings: Settings) -> Self {
        let Scopes { backend, clock, .. } = scopes.clone();
        Self {
            scope,
            words: Words::new(settings.layout, clock.clone()),
            state: tokio::sync::Mutex::new(State { held: Held::Nothing(Token::random()), own: OwnTime::read(&clock) }),
            clock,
            metrics: IdMetrics::register(),
            wanted: Notify::new(),
            reservations: watch::Sender::new(0),
            is_released: AtomicBool::new(false),
            failure: Mutex::default(),
            backend,
            settings,
            failures: Recurring::default(),
        }
    }

    /// Extends until it is released.
    pub(super) async fn run(self: Arc<Self>) {
        let every = Duration::from_millis(self.settings.ahead_ms) / TIMES;
        let (mut pause, mut has_failed) = (every, false);
        while !self.is_released.load(SeqCst) {
            tokio::select! {
                () = self.clock.sleep(pause) => {}
                // After a failure callers do not hasten the next attempt.
                () = self.wanted.notified(), if !has_failed => {
                    let useful_in = self.words.useful_in(self.settings.ahead_ms);
                    self.clock.sleep(useful_in.clamp(GAP, every.max(GAP))).await;
                }
            }
            let done = self.run_once().await;
            self.failures.log("extend", &done, |error, times| {
                tracing::warn!(scope = self.scope.name(), %error, times, "no time could be reserved for ids; retrying");
            });
            has_failed = done.is_err();
            pause = if has_failed { RETRY } else { every };
        }
    }

    /// Extends, or leases a worker id if there is none.
    pub(super) async fn run_once(&self) -> Result<(), IdError> {
        let mut state = self.state.lock().await;
        if self.is_released.load(SeqCst) && guard("id_released_stays") {
            return Ok(());
        }
        let done = self.reserve(&mut state).await;
        if done.is_err() {
            self.metrics.failed.increment(1);
        } else {
            self.reservations.send_modify(|count| *count += 1);
        }
        *self.failure.lock() = done.as_ref().err().cloned();
        done
    }

    async fn reserve(&self, State { held, own }: &mut State) -> Result<(), IdError> {
        if let Held::Worker { owner, worker } = *held {
            let call = self.call(owner, own.now_ms(&self.clock));
            match self.backend.run(&self.scope, &Extend { call, worker }).await? {
                Ok(reserved) => {
                    self.metrics.extended.increment(1);
                    self.words.reserve(&reserved, false);
                    return Ok(());
                }
                Err(Refused::Lost) => {
                    self.metrics.lost.increment(1);
                    tracing::warn!(
                        scope = self.scope.name(),
                        worker,
                        "the lease of the worker id was lost; leasing another one"
                    );
                    *held = Held::Nothing(Token::random());
                }
                Err(other) => {
                    // It may be this process that has not noticed time that passed.
                    *own = OwnTime::read(&self.clock);
                    return Err(self.error(other, call.own_ms));
                }
            }
        }
        let Held::Nothing(owner) = *held else { return Ok(()) };
        *own = OwnTime::read(&self.clock);
        let call = self.call(owner, own.now_ms(&self.clock));
        match self.backend.run(&self.scope, &Acquire(call)).await? {
            Ok(reserved) => {
                let Reserved { worker, .. } = reserved;
                if u32::from(worker) >= self.settings.layout.workers() {
                    // Another program has changed the rows.
                    return Err(self.error(Refused::Taken { free_in_ms: 0 }, call.own_ms));
                }
                self.metrics.acquired.increment(1);
                self.words.reserve(&reserved, true);
                *held = Held::Worker { owner, worker };
                Ok(())
            }
            Err(refused) => Err(self.error(refused, call.own_ms)),
        }
    }

    /// Ends the lease; nothing is issued from now on.
    pub(super) async fn release(&self) -> Result<(), IdError> {
        self.is_released.store(true, SeqCst);
        self.words.close();
        self.reservations.send_modify(|count| *count += 1);
        let mut state = self.state.lock().await;
        // An extension that was under way may have reserved meanwhile.
        self.words.close();
        let Held::Worker { owner, worker } = state.held else { return Ok(()) };
        let call = self.call(owner, state.own.now_ms(&self.clock));
        // A worker id that was lost meanwhile is released, too.
        let _released = self.backend.run(&self.scope, &Release { call, worker }).await?;
        state.held = Held::Nothing(owner);
        Ok(())
    }

    fn call(&self, owner: Token, own_ms: u64) -> Call {
        Call { owner, settings: self.settings, own_ms }
    }

    fn error(&self, refused: Refused, own_ms: u64) -> IdError {
        let scope = self.scope.name().to_owned();
        match refused {
            Refused::Taken { free_in_ms } => IdError::WorkersTaken {
                scope,
                workers: self.settings.layout.workers(),
                free_in: Duration::from_millis(free_in_ms),
            },
            Refused::Differs { stored } => IdError::Differs { scope, asked: self.settings.to_string(), stored },
            Refused::ClocksApart { store_ms } => IdError::ClocksApart { store_ms, own_ms },
            Refused::Lost => IdError::Released { scope },
        }
    }
}

impl OwnTime {
    fn read(clock: &Clock) -> Self {
        Self { unix_ms: clock.unix_ms(), at: clock.now() }
    }

    fn now_ms(&self, clock: &Clock) -> u64 {
        self.unix_ms.saturating_add(ms(clock.now().since(self.at)))
    }
}
