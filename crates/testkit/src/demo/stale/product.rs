//! The product's own caches: the published protocols and the fenced one, over the embedded store.

use super::contestant::Entrant;
use super::world::World;
use std::sync::Arc;

/// One entrant a protocol.
pub fn entrants(_world: &Arc<World>) -> anyhow::Result<Vec<Entrant>> {
    Ok(Vec::new())
}
