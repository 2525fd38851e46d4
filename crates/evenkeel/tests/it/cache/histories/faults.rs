//! The faults of one history, drawn from its seed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testkit::proxy::Schedule;

/// Processes of a fleet.
pub(super) const PROCESSES: usize = 3;

/// The faults of one history.
#[derive(Clone, Debug)]
pub(super) struct Faults {
    /// What happens to the connection of each process.
    pub(super) connections: [Schedule; PROCESSES],
    /// One process is stopped at this moment, and continues when the others have done this many operations.
    pub(super) pause: Option<(At, u32)>,
    /// One process is killed at such a moment.
    pub(super) kill: Option<At>,
}

/// A moment inside a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) process: usize,
    /// Of how many of its writes.
    pub(super) write: u32,
    /// After the commit and before the end of the window, or before the commit.
    pub(super) is_committed: bool,
}

impl Faults {
    pub(super) fn draw(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed);
        let connections = [(); PROCESSES].map(|()| {
            let faults = random.random_range(0..3);
            Schedule::random(random.random(), faults)
        });
        let victim = random.random_range(0..PROCESSES);
        let other = (victim + random.random_range(1..PROCESSES)) % PROCESSES;
        let pause = random.random_bool(0.7).then(|| (At::draw(random, other), random.random_range(5..200)));
        let kill = random.random_bool(0.7).then(|| At::draw(random, victim));
        Self { connections, pause, kill }
    }
}

impl At {
    fn draw(random: &mut StdRng, process: usize) -> Self {
        Self { process, write: random.random_range(1..8), is_committed: random.random_bool(0.4) }
    }
}
