//! The state shared by the handles and the background tasks of one link.

use super::Epoch;
use super::health::EndReason;
use super::server_clock::ServerClock;
use super::state::LinkState;
use crate::clock::{Clock, Moment};
use crate::connection::ResponseTimeouts;
use crate::connection::connect::Connector;
use crate::error::LinkError;
use crate::link::EpochHook;
use crate::metrics::Metrics;
use crate::options::LinkOptions;
use crate::push::message::Listeners;
use crate::push::pulse::Pulse;
use crate::push::subscribe::Subscriptions;
use crate::server::topology::Topology;
use crate::support::Recurring;
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use tokio::sync::watch;

/// The state of a link.
pub(crate) struct Shared {
    pub(crate) options: LinkOptions,
    pub(crate) topology: Topology,
    /// Always the machine's clock: a real server does not stop when a test stops its clock.
    pub(crate) clock: Clock,
    pub(crate) server_clock: ServerClock,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) current: ArcSwapOption<Epoch>,
    pub(crate) state: watch::Sender<LinkState>,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) response_timeouts: ResponseTimeouts,
    #[cfg(feature = "testing")]
    program_clock: Clock,
    has_runtime_ended: AtomicBool,
    hooks: Mutex<Vec<Weak<dyn EpochHook>>>,
    published: AtomicU64,
    /// The rejections that were logged: each new connection meets them again.
    pub(crate) rejections: Recurring,
}

impl Shared {
    /// `clock` is the program's clock; it is used only to estimate Redis's time.
    pub(crate) fn new(options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        options.check()?;
        let system = Clock::system();
        let connector = Arc::new(Connector::new(&options, system.clone())?);
        Ok(Self {
            topology: Topology::Standalone(connector),
            clock: system,
            #[cfg(feature = "testing")]
            program_clock: clock.clone(),
            pulse: Arc::new(Pulse::new(clock.clone(), options.connections)),
            server_clock: ServerClock::new(clock),
            current: ArcSwapOption::empty(),
            state: watch::Sender::new(LinkState::Down { reason: "not connected yet".into() }),
            listeners: Arc::default(),
            subscriptions: Arc::default(),
            metrics: Arc::new(Metrics::register()),
            response_timeouts: ResponseTimeouts::default(),
            has_runtime_ended: AtomicBool::new(false),
            hooks: Mutex::default(),
            published: AtomicU64::new(0),
            rejections: Recurring::default(),
            options,
        })
    }

    /// The current epoch, or the error of a call that finds none.
    pub(crate) fn epoch(&self) -> Result<Arc<Epoch>, LinkError> {
        self.current.load_full().ok_or_else(|| self.down())
    }

    /// See [`Link::server_now_ms`](crate::link::Link::server_now_ms).
    pub(crate) fn server_now_ms(&self) -> u64 {
        #[cfg(feature = "testing")]
        if self.program_clock.is_manual() {
            return self.program_clock.unix_ms();
        }
        self.server_clock.now_ms()
    }

    /// Redis's time in ms since 1970 at a moment of the program's clock.
    #[inline(always)]
    pub(crate) fn server_ms_at(&self, moment: Moment) -> u64 {
        #[cfg(feature = "testing")]
        if self.program_clock.is_manual() {
            return self.program_clock.unix_ms();
        }
        self.server_clock.ms_at(moment)
    }

    /// The number of the next epoch to be published.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.published.load(Relaxed) + 1
    }

    pub(crate) fn add_hook(&self, hook: Weak<dyn EpochHook>) {
        let mut hooks = self.hooks.lock();
        hooks.retain(|hook| hook.strong_count() > 0);
        hooks.push(hook);
    }

    pub(crate) fn hooks(&self) -> Vec<Arc<dyn EpochHook>> {
        self.hooks.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Makes `epoch` the current one, unless the link was closed while the epoch was being opened.
    pub(crate) fn publish(&self, epoch: &Arc<Epoch>) {
        self.published.store(epoch.number, Relaxed);
        // Before the first read on the new epoch, because values kept from earlier epochs must be dropped by then.
        self.pulse.begin();
        self.listeners.opened(epoch.number);
        self.current.store(Some(Arc::clone(epoch)));
        if !self.move_to(LinkState::Up { epoch: epoch.number }) {
            self.current.store(None);
            return self.end(epoch, EndReason::Shutdown);
        }
        self.metrics.up.set(1);
        self.metrics.epoch.set(epoch.number as f64);
        tracing::info!(epoch = epoch.number, address = %self.topology.address(), "link is up");
        // Last, so that a subscriber that reacts to the reset finds the epoch.
        self.subscriptions.reset();
    }

    /// Removes the current epoch. Commands in flight fail with `NoAnswer`.
    pub(crate) fn retire(&self, epoch: &Epoch, reason: EndReason) {
        // The state is set before the epoch is removed, so that a caller that finds no epoch also finds the reason.
        let why = format!("the last connection ended ({})", reason.as_str());
        self.move_to(LinkState::Down { reason: why.into() });
        self.current.store(None);
        self.end(epoch, reason);
        self.listeners.ended();
        self.metrics.up.set(0);
        Metrics::ended(reason);
        match reason {
            EndReason::Shutdown => tracing::info!(epoch = epoch.number, "link was shut down"),
            EndReason::RuntimeEnded => tracing::info!(epoch = epoch.number, "the link ended with its tokio runtime"),
            _ => tracing::warn!(epoch = epoch.number, reason = reason.as_str(), "link is down"),
        }
    }

    /// Ends an epoch with all its calls, also those with a shorter time-out, whose task may have ended with the runtime.
    fn end(&self, epoch: &Epoch, reason: EndReason) {
        epoch.end(reason);
        self.response_timeouts.end();
    }

    /// Closes the link after its runtime has ended: its connections are closed, and no task is left that could open others.
    pub(crate) fn runtime_ended(&self) {
        // Before the state, so that a caller that finds the link closed also finds the reason.
        self.has_runtime_ended.store(true, SeqCst);
        super::supervisor::close(self, EndReason::RuntimeEnded);
    }

    /// Records the reason of a failed attempt.
    pub(crate) fn report(&self, reason: &str) {
        self.metrics.open_failures.increment(1);
        self.move_to(LinkState::Down { reason: reason.into() });
    }

    /// Changes the state; a closed link stays closed. Returns `false` if the link is closed.
    fn move_to(&self, next: LinkState) -> bool {
        let mut is_open = true;
        self.state.send_if_modified(|state| {
            is_open = *state != LinkState::Closed;
            let is_change = is_open && *state != next;
            if is_change {
                *state = next;
            }
            is_change
        });
        is_open
    }

    /// The error of a call that finds no epoch.
    pub(crate) fn down(&self) -> LinkError {
        let reason = match &*self.state.borrow() {
            LinkState::Up { .. } => "it has just come back".to_owned(),
            LinkState::Down { reason } => reason.to_string(),
            LinkState::Closed if self.has_runtime_ended.load(SeqCst) => return LinkError::RuntimeEnded,
            LinkState::Closed => "the link was shut down".to_owned(),
        };
        LinkError::Down { address: self.topology.address(), reason }
    }
}
