//! A process is killed at every point of its work; the next process hands out every record whose append was acknowledged.

use super::{TOPIC, numbers, write};
use evenkeel::spool::{Fsync, Spool, SpoolOptions};
use std::collections::HashSet;
use std::path::PathBuf;
use testkit::process::{Station, Worker};

/// Each point, and at which of its visits the process dies.
const POINTS: &[&str] = &[
    "spool_before_write:7",
    "spool_half_written:7",
    "spool_written:7",
    "spool_synced:7",
    "spool_before_answer:7",
    "spool_created:1",
    "spool_created:3",
    "spool_rolled:1",
    "spool_before_remove:1",
    "spool_removed:1",
    "spool_copied:1",
];

/// So small that it begins segments, copies old effects and removes files all the time.
fn tiny() -> SpoolOptions {
    SpoolOptions::default().fsync(Fsync::Always).segment_bytes(256).bytes_max(512)
}

// shows: C7, spool::Spool
#[tokio::test]
async fn acknowledged_records_survive_any_process_death() {
    for point in POINTS {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Worker::start_with("spool::crashes::appender", &[("EVENKEEL_CRASH_AT", *point)]).unwrap();
        process.say(folder.path()).unwrap();
        let (mut kept, mut tried, mut maybe_done) = (HashSet::new(), HashSet::new(), HashSet::new());
        // It ends by the signal, and so does its output.
        while let Ok((what, number)) = process.receive::<(String, u32)>().await {
            assert_ne!(what, "survived", "{point} was never reached");
            match &*what {
                "tries" => tried.insert(number),
                "kept" => kept.insert(number),
                _ => maybe_done.insert(number),
            };
        }
        let spool = Spool::open(folder.path(), tiny()).await.unwrap();
        let found: HashSet<u32> = numbers(&spool).into_iter().collect();
        let lost: Vec<_> = kept.difference(&maybe_done).filter(|number| !found.contains(number)).collect();
        assert!(lost.is_empty(), "{point}: lost {lost:?}, kept {kept:?}, done {maybe_done:?}");
        assert!(found.is_subset(&tried), "{point}: {found:?} of {tried:?}");
        spool.append(write(1_000_000)).await.unwrap();
        spool.close().await.unwrap();
        let spool = Spool::open(folder.path(), tiny()).await.unwrap();
        assert!(numbers(&spool).contains(&1_000_000) && found.iter().all(|number| numbers(&spool).contains(number)));
    }
}

#[tokio::test]
#[ignore = "a worker of `acknowledged_records_survive_any_process_death`"]
async fn appender() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let dir: PathBuf = station.receive().await.unwrap();
    let spool = Spool::open(dir, tiny()).await.unwrap();
    for number in 0..60_u32 {
        station.say(&("tries", number)).unwrap();
        let sequence = spool.append(write(number)).await.unwrap();
        station.say(&("kept", number)).unwrap();
        // The first one stays, so that it has to be copied.
        if number % 20 > 0 {
            station.say(&("is done with", number)).unwrap();
            spool.done(&[sequence]);
            spool.sync().await.unwrap();
        }
    }
    assert_eq!(spool.pending(TOPIC, 10).len(), 3);
    station.say(&("survived", 0)).unwrap();
}
