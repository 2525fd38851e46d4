//! Every setting of a spool at zero, one, its bounds, just above them, and at its largest: it works, or is refused in a sentence.

use super::{TOPIC, delete, small, write};
use evenkeel::spool::{Fsync, Spool, SpoolError, SpoolOptions, WhenFull};
use std::time::Duration;

const SIZES: [u64; 9] = [0, 1, 255, 256, 4096, 4097, 1 << 30, (1 << 30) + 1, u64::MAX];

/// Turns the options of a spool into others.
pub(super) type Change = Box<dyn Fn(SpoolOptions) -> SpoolOptions>;

pub(super) fn spans() -> [Duration; 4] {
    [Duration::ZERO, Duration::from_nanos(1), Duration::from_millis(u64::MAX), Duration::MAX]
}

/// Changes of [`small`], and whether a spool opens with one of them.
pub(super) fn changes() -> Vec<(String, bool, Change)> {
    let mut all: Vec<(String, bool, Change)> = Vec::new();
    for bytes in SIZES {
        all.push((format!("bytes_max {bytes}"), bytes >= 256, Box::new(move |to| to.bytes_max(bytes))));
        let is_segment = (256..=1 << 30).contains(&bytes);
        let roomy: Change = Box::new(move |to| to.bytes_max(u64::MAX).segment_bytes(bytes));
        all.push((format!("segment_bytes {bytes}"), is_segment, roomy));
        all.push((format!("both {bytes}"), is_segment, Box::new(move |to| to.segment_bytes(bytes).bytes_max(bytes))));
    }
    for span in spans() {
        let is_span = !span.is_zero();
        all.push((format!("fsync every {span:?}"), is_span, Box::new(move |to| to.fsync(Fsync::Every(span)))));
        all.push((format!("block {span:?}"), true, Box::new(move |to| to.when_full(WhenFull::Block(span)))));
    }
    all
}

// shows: hazard A28
#[tokio::test]
async fn spool_with_extreme_settings_keeps_acknowledged_records() {
    for (what, works, change) in changes() {
        let options = change(small());
        let folder = tempfile::tempdir().unwrap();
        match Spool::open(folder.path(), options.clone()).await {
            Ok(spool) => {
                assert!(works, "{what}");
                let first = spool.append(write(1)).await.unwrap();
                spool.append(delete(2)).await.unwrap();
                spool.done(&[first, 0, u64::MAX]);
                spool.sync().await.unwrap();
                assert_eq!(spool.pending(TOPIC, usize::MAX).len(), 1, "{what}");
                assert_eq!(spool.pending(TOPIC, 0).len() + spool.pending("", usize::MAX).len(), 0, "{what}");
                spool.close().await.unwrap();
                let again = Spool::open(folder.path(), options).await.unwrap();
                assert_eq!(again.pending(TOPIC, 1).len(), 1, "{what}");
            }
            Err(SpoolError::Settings { reason }) => assert!(!works && reason.len() > 20, "{what}: {reason}"),
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// A caller that waits forever for space gets it as soon as a record is done.
// shows: hazard A28
#[tokio::test]
async fn endless_wait_ends_when_the_spool_has_room() {
    for span in spans() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path(), small().bytes_max(256).when_full(WhenFull::Block(span))).await.unwrap();
        let mut kept = Vec::new();
        while spool.stats().bytes < 200 {
            kept.push(spool.append(write(7)).await.unwrap());
        }
        let other = spool.clone();
        let waits = tokio::spawn(async move { other.append(write(8)).await });
        if span < Duration::from_secs(1) {
            assert!(matches!(waits.await.unwrap(), Err(SpoolError::Full { .. })), "{span:?}");
        } else {
            spool.done(&kept);
            waits.await.unwrap().unwrap();
        }
    }
}
