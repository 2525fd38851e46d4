//! Pending effects in a spool: what cannot be carried out now is kept in a file, and carried out by the next process.
//!
//! A cache does this by itself (`Keel::builder().spool(..)`): an invalidation that Redis does not accept returns `Deferred`.
//! This program keeps its own pending notifications, and is "restarted" in the middle.
//!
//! `cargo run -p evenkeel --features spool --example spool_pending_effects`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::spool::{Fsync, Kind, PendingEffect, Spool, SpoolError, SpoolOptions, WhenFull};
use std::path::Path;
use std::time::Duration;

const PARTNER: &str = "partner";

async fn open(folder: &Path) -> Result<Spool, SpoolError> {
    let options = SpoolOptions::default()
        .bytes_max(16 << 20)
        .fsync(Fsync::Always) // not even a power cut loses what was acknowledged
        .when_full(WhenFull::Block(Duration::from_secs(1)));
    Spool::open(folder, options).await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("evenkeel-example-{}", std::process::id()));

    // The partner's service does not answer. Report it, and keep the notification for later.
    let spool = open(&folder).await?;
    spool.append(PendingEffect::write(PARTNER, "order/1", "confirmed")).await?;
    spool.append(PendingEffect::write(PARTNER, "order/2", "confirmed")).await?;
    spool.append(PendingEffect::delete(PARTNER, "permission/ada", "")).await?;
    spool.append(PendingEffect::delete(PARTNER, "permission/ada", "")).await?; // one stands for both
    println!("kept: {}", spool.stats().pending);

    // One process at a time.
    if let Err(error @ SpoolError::InUse { .. }) = open(&folder).await {
        println!("a second process is refused: {}", error.is_retryable());
    }
    spool.close().await?; // a crash would do as well

    // The next process carries it out: withdrawals come first.
    let spool = open(&folder).await?;
    for pending in spool.pending(PARTNER, 100) {
        let verb = if pending.effect.kind == Kind::Delete { "withdraw" } else { "notify" };
        println!("{verb} {}", String::from_utf8_lossy(&pending.effect.key));
        // It may be carried out twice, if the process dies right here: the receiver must bear that.
        spool.done(&[pending.sequence]);
    }
    spool.sync().await?;
    println!("left: {}", spool.stats().pending);
    spool.close().await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
