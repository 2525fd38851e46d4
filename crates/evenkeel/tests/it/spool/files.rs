//! Appended records are there for the next process that opens the folder, within bounds.

use super::{TOPIC, delete, numbers, open, small, write};
use evenkeel::Keel;
use evenkeel::spool::{Fsync, PendingEffect, Spool, SpoolError, SpoolOptions, WhenFull};
use evenkeel::testing::TestClock;
use std::time::Duration;

// shows: spool::Spool
#[tokio::test]
async fn restart_returns_pending_records_deletes_first() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path()).await;
    let first = spool.append(write(1)).await.unwrap();
    spool.append(write(2)).await.unwrap();
    spool.append(delete(3)).await.unwrap();
    let fourth = spool.append(delete(4)).await.unwrap();
    assert_eq!(numbers(&spool), [3, 4, 1, 2]);
    spool.done(&[first, fourth]);
    spool.sync().await.unwrap();
    assert_eq!(numbers(&spool), [3, 2]);
    let before = spool.pending(TOPIC, usize::MAX);
    spool.close().await.unwrap();
    let spool = open(folder.path()).await;
    assert_eq!(spool.pending(TOPIC, usize::MAX), before);
    assert_eq!(spool.pending(TOPIC, 1).len(), 1);
    assert_eq!(
        spool.topics().into_iter().map(|(topic, count)| (topic.to_string(), count)).collect::<Vec<_>>(),
        [(TOPIC.to_owned(), 2)]
    );
    assert!(spool.append(write(5)).await.unwrap() > fourth, "a sequence never comes again");
}

// shows: spool::Spool, spool::Spool::sync, spool::Spool::close
#[tokio::test]
async fn acknowledged_record_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), small().bytes_max(1 << 20).fsync(Fsync::Always)).await.unwrap();
    for number in 1..=3 {
        spool.append(write(number)).await.unwrap();
        assert_eq!(spool.stats().syncs, u64::from(number));
    }
}

// shows: spool::Spool::sync, spool::Spool::close
#[tokio::test]
async fn sync_interval_delays_the_sync() {
    let folder = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let options = small().fsync(Fsync::Every(Duration::from_secs(1)));
    let keel = Keel::builder().clock(clock.clock()).spool(folder.path(), options).await.unwrap().memory();
    let spool = keel.spool().unwrap();
    spool.append(write(1)).await.unwrap();
    assert_eq!(spool.stats().syncs, 0);
    while spool.stats().syncs == 0 {
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
}

// shows: spool::Spool::open
#[tokio::test]
async fn folder_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path()).await;
    let refused = Spool::open(folder.path(), small()).await.unwrap_err();
    assert!(matches!(refused, SpoolError::InUse { .. }), "{refused}");
    spool.close().await.unwrap();
    assert!(matches!(spool.append(write(1)).await, Err(SpoolError::Closed)));
    open(folder.path()).await;
}

// shows: spool::Spool::append, spec/spool.md
#[tokio::test]
async fn full_spool_rejects_with_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), small().bytes_max(256)).await.unwrap();
    let mut kept = Vec::new();
    let full = loop {
        match spool.append(write(7)).await {
            Ok(sequence) => kept.push(sequence),
            Err(error) => break error,
        }
        assert!(kept.len() < 10);
    };
    assert!(matches!(full, SpoolError::Full { bytes, bytes_max: 256 } if bytes <= 256 && bytes == spool.stats().bytes));
    spool.done(&kept[..1]);
    spool.sync().await.unwrap();
    spool.append(write(8)).await.unwrap();
    let huge = PendingEffect::write(TOPIC, "k", vec![0; 300]);
    assert!(matches!(spool.append(huge).await, Err(SpoolError::TooLarge { .. })));
}

/// It was rejected as an effect larger than a segment, with two numbers of which the first was the smaller.
// shows: spool::Spool::append
#[tokio::test]
async fn long_topic_is_rejected_with_its_length() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), SpoolOptions::default()).await.unwrap();
    let rejected = spool.append(PendingEffect::write("t".repeat(256), "k", "")).await.unwrap_err();
    assert!(matches!(rejected, SpoolError::LongTopic { bytes: 256, bytes_max: 255 }), "{rejected}");
    assert!(!rejected.is_retryable() && spool.stats().pending == 0, "{rejected}");
    spool.append(PendingEffect::write("t".repeat(255), "k", "")).await.unwrap();
}

// shows: spool::Spool::append
#[tokio::test]
async fn waiting_caller_is_admitted_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let long_wait = small().bytes_max(256).when_full(WhenFull::Block(Duration::from_secs(600)));
    let clock = TestClock::default();
    let keel = Keel::builder().clock(clock.clock()).spool(folder.path(), long_wait).await.unwrap().memory();
    let spool = keel.spool().unwrap().clone();
    while spool.stats().bytes + 60 <= 256 {
        spool.append(write(1)).await.unwrap();
    }
    let waiting = tokio::spawn({
        let spool = spool.clone();
        async move { spool.append(write(2)).await }
    });
    let first = spool.pending(TOPIC, 1)[0].sequence;
    spool.done(&[first]);
    waiting.await.unwrap().unwrap();
    let turned_away = tokio::spawn({
        let spool = spool.clone();
        async move { spool.append(write(3)).await }
    });
    while !turned_away.is_finished() {
        clock.advance(Duration::from_secs(600));
        tokio::task::yield_now().await;
    }
    assert!(matches!(turned_away.await.unwrap(), Err(SpoolError::Full { .. })));
}

/// During an outage a hot row is invalidated over and over. It must not push everything else out.
// shows: spec/spool.md
#[tokio::test]
async fn repeated_deletes_of_a_key_take_the_space_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(folder.path(), small().bytes_max(256)).await.unwrap();
    for _ in 0..50 {
        spool.append(delete(1)).await.unwrap();
    }
    assert_eq!(numbers(&spool), [1]);
    assert!(spool.stats().file_bytes <= 2 * 256 + 3 * 256, "{:?}", spool.stats());
    spool.close().await.unwrap();
    assert_eq!(numbers(&open(folder.path()).await), [1]);
}

/// Segments go oldest first, so one old effect would hold all that follows: it is copied to the end.
// shows: spec/spool.md
#[tokio::test]
async fn old_record_does_not_hold_later_segments() {
    let folder = tempfile::tempdir().unwrap();
    let options = || small().bytes_max(512);
    let spool = Spool::open(folder.path(), options()).await.unwrap();
    spool.append(write(1)).await.unwrap();
    for number in 2..200 {
        let sequence = spool.append(write(number)).await.unwrap();
        spool.done(&[sequence]);
    }
    spool.sync().await.unwrap();
    assert_eq!(numbers(&spool), [1]);
    let bound = 2 * 512 + 3 * 256;
    assert!(spool.stats().file_bytes <= bound, "{:?}", spool.stats());
    spool.close().await.unwrap();
    let on_disk: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(on_disk <= bound, "{on_disk}");
    let spool = Spool::open(folder.path(), options()).await.unwrap();
    assert_eq!(numbers(&spool), [1]);
}

/// A segment's marks refer to older segments: if it were removed before them, completed records would be handed out again.
// shows: spool::Spool
#[tokio::test]
async fn completed_record_stays_completed_as_segments_go() {
    let folder = tempfile::tempdir().unwrap();
    let spool = open(folder.path()).await;
    let keeper = spool.append(write(1)).await.unwrap();
    let mut done = Vec::new();
    for number in 2..12 {
        done.push(spool.append(write(number)).await.unwrap());
    }
    for sequence in done {
        spool.done(&[sequence]);
        spool.sync().await.unwrap();
    }
    for number in 12..20 {
        let sequence = spool.append(write(number)).await.unwrap();
        spool.done(&[sequence]);
        spool.sync().await.unwrap();
    }
    spool.close().await.unwrap();
    let spool = open(folder.path()).await;
    assert_eq!(numbers(&spool), [1]);
    spool.done(&[keeper]);
    spool.sync().await.unwrap();
    assert_eq!(spool.stats().pending, 0);
}

// shows: spool::Spool::open
#[tokio::test]
async fn invalid_spool_settings_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (SpoolOptions::default().segment_bytes(10), "segment_bytes"),
        (SpoolOptions::default().bytes_max(1000), "bytes_max"),
        (SpoolOptions::default().fsync(Fsync::Every(Duration::ZERO)), "Fsync::Always"),
    ];
    for (options, word) in cases {
        let refused = Spool::open(folder.path(), options).await.unwrap_err();
        assert!(refused.to_string().contains(word), "{refused}");
    }
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let refused = Spool::open(&file, small()).await.unwrap_err();
    assert!(matches!(refused, SpoolError::Io { .. }) && refused.to_string().contains("file"), "{refused}");
}
