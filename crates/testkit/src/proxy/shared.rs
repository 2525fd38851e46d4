//! The state that the handle, the listener and all connections share.

use super::flow::{Direction, Flow};
use super::hold::Holds;
use super::record::{Command, Counters};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::sync::watch;

/// The lasting faults, and two counters whose change cuts or half-opens every current connection.
#[derive(Debug, Default)]
pub(super) struct Rules {
    to_server: Flow,
    to_client: Flow,
    pub(super) refuse: bool,
    /// A command that contains these bytes is lost.
    pub(super) lost_with: Option<Vec<u8>>,
    pub(super) duplicate: Option<(f64, RangeInclusive<Duration>)>,
    pub(super) cuts: u64,
    pub(super) half_opens: u64,
}

impl Rules {
    pub(super) fn flow(&self, direction: Direction) -> Flow {
        match direction {
            Direction::ToServer => self.to_server,
            Direction::ToClient => self.to_client,
        }
    }

    pub(super) fn flow_mut(&mut self, direction: Direction) -> &mut Flow {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    /// Whether this command is to be lost.
    pub(super) fn loses(&self, command: &[u8]) -> bool {
        let lost = self.lost_with.as_deref().filter(|part| !part.is_empty());
        lost.is_some_and(|part| command.windows(part.len()).any(|window| window == part))
    }

    pub(super) fn heal(&mut self) {
        *self = Rules { cuts: self.cuts, half_opens: self.half_opens, ..Rules::default() };
    }
}

/// A cut that happens once, at a certain point of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    AfterBytes(Direction, u64),
    /// Before the command of this number, or before its reply.
    Before(Direction, u64),
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: u16,
    pub(super) rules: watch::Sender<Rules>,
    pub(super) counters: watch::Sender<Counters>,
    pub(super) holds: Holds,
    random: Mutex<StdRng>,
    commands: Mutex<Vec<Command>>,
    cuts: Mutex<Vec<Cut>>,
}

impl Shared {
    pub(super) fn new(target: u16, seed: u64) -> Shared {
        Shared {
            target,
            rules: watch::Sender::default(),
            counters: watch::Sender::default(),
            holds: Holds::default(),
            random: Mutex::new(StdRng::seed_from_u64(seed)),
            commands: Mutex::default(),
            cuts: Mutex::default(),
        }
    }

    /// Changes the counters and notifies the waiters.
    pub(super) fn count(&self, change: impl FnOnce(&mut Counters)) {
        self.counters.send_modify(change);
    }

    /// Records a command and assigns its number.
    pub(super) fn record(&self, mut command: Command, connection: u64) -> Command {
        let mut commands = self.commands.lock();
        command.connection = connection;
        command.number = commands.last().map_or(0, |last| last.number) + 1;
        commands.push(command.clone());
        drop(commands);
        self.count(|counters| counters.commands += 1);
        command
    }

    pub(super) fn commands(&self) -> Vec<Command> {
        self.commands.lock().clone()
    }

    pub(super) fn forget_commands(&self) {
        self.commands.lock().clear();
    }

    pub(super) fn arm(&self, cut: Cut) {
        self.cuts.lock().push(cut);
    }

    /// Whether the connection is to be cut before this frame. Returns true at most once.
    pub(super) fn cuts_before(&self, direction: Direction, number: u64) -> bool {
        let mut cuts = self.cuts.lock();
        let found = cuts.iter().position(|cut| *cut == Cut::Before(direction, number));
        found.map(|found| cuts.remove(found)).is_some()
    }

    /// The number of these bytes to write, and whether the connection is to be cut then.
    pub(super) fn cuts_within(&self, direction: Direction, bytes: usize) -> (usize, bool) {
        let mut cuts = self.cuts.lock();
        let bytes_wide = bytes as u64;
        let mut due = None;
        cuts.retain_mut(|cut| match cut {
            Cut::AfterBytes(this, left) if *this == direction => {
                if *left <= bytes_wide {
                    due = Some(due.unwrap_or(*left).min(*left));
                    return false;
                }
                *left -= bytes_wide;
                true
            }
            _ => true,
        });
        due.map_or((bytes, false), |left| (usize::try_from(left).unwrap_or(bytes), true))
    }

    /// The delay of a frame.
    pub(super) fn delay(&self, direction: Direction) -> Duration {
        match self.rules.borrow().flow(direction) {
            Flow::Delay { min, max } => self.between(min..=max),
            Flow::Pass | Flow::Stall | Flow::Swallow => Duration::ZERO,
        }
    }

    /// The delay of a frame's duplicate, if it is to be duplicated.
    pub(super) fn duplicate_delay(&self) -> Option<Duration> {
        let (share, later) = self.rules.borrow().duplicate.clone()?;
        let chosen = self.random.lock().random_bool(share.clamp(0.0, 1.0));
        chosen.then(|| self.between(later))
    }

    fn between(&self, times: RangeInclusive<Duration>) -> Duration {
        if times.is_empty() { *times.start() } else { self.random.lock().random_range(times) }
    }
}
