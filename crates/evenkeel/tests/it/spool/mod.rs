//! The spool: its file, its crashes, and the invalidations that it keeps.

mod crashes;
mod damage;
mod extremes;
mod files;
mod hostile;
mod invalidations;
mod neighbors;
pub(crate) mod robustness;

use evenkeel::spool::{Fsync, PendingEffect, Spool, SpoolOptions};
use std::path::Path;

const TOPIC: &str = "test/numbers";

/// A spool that does not wait for the disk, with small segments.
fn small() -> SpoolOptions {
    SpoolOptions::default().fsync(Fsync::Never).segment_bytes(256).bytes_max(4096)
}

async fn open(dir: &Path) -> Spool {
    Spool::open(dir, small()).await.unwrap()
}

fn write(number: u32) -> PendingEffect {
    PendingEffect::write(TOPIC, number.to_string(), "to be written")
}

fn delete(number: u32) -> PendingEffect {
    PendingEffect::delete(TOPIC, number.to_string(), "to be deleted")
}

/// The numbers that wait, in the order they are handed out.
fn numbers(spool: &Spool) -> Vec<u32> {
    let key = |key: &[u8]| std::str::from_utf8(key).unwrap().parse().unwrap();
    spool.pending(TOPIC, usize::MAX).iter().map(|spooled| key(&spooled.effect.key)).collect()
}
