//! Random schedules of loaders and writers over a network that delays, repeats and loses, with one question after each
//! delivery: is what a reader would be served older than it may be?
//!
//! [`side_by_side`](super::side_by_side) shows that the scripts do what the model does; this shows that what they do keeps the
//! promise. A seed decides everything.

mod actors;
mod replicas;
mod simulation;

use super::Backend;
use simulation::Simulation;

/// What the writers do, and so what must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// They commit, then invalidate (C1): nothing older than an answered invalidation is served. Entries are evicted and
    /// failovers lose what was written last.
    Invalidate,
    /// The same with loaders of which some read replicas, each with a lag of its own. Some versions are deletions of the row; some
    /// writers and loaders know versions; some writers know nothing of replicas.
    InvalidateOnReplicas,
    /// They commit inside an update window (C2): nothing older than the row is served. Nothing is evicted, and a writer
    /// whose window has expired rolls back.
    Window,
}

/// Plays `steps` steps drawn from `seed`; returns how many values were served.
///
/// # Panics
/// When a value is older than it may be: with the seed and what happened before.
pub async fn nothing_old_is_served<B: Backend>(backend: &B, writing: Writing, seed: u64, steps: usize) -> usize {
    Simulation::new(backend, writing, seed).play(steps).await
}
