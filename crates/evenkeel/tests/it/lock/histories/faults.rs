//! What goes wrong in one history, drawn from its seed.

use super::PROCESSES;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testkit::proxy::Schedule;

/// The faults of one history.
#[derive(Clone, Debug)]
pub(super) struct Faults {
    /// What happens to the connection of each process.
    pub(super) connections: [Schedule; PROCESSES],
    /// The processes that die once their tasks have executed this many operations together.
    pub(super) dies: [Option<u32>; PROCESSES],
}

impl Faults {
    pub(super) fn draw(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed);
        let connections = [(); PROCESSES].map(|()| {
            let faults = random.random_range(0..3);
            Schedule::random(random.random(), faults)
        });
        let mut dies = [None; PROCESSES];
        dies[random.random_range(0..PROCESSES)] = random.random_bool(0.7).then(|| random.random_range(5..60));
        Self { connections, dies }
    }
}
