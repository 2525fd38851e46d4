//! Others in the folder of a spool: files that are none of ours, a segment of another version, a second program, and effects that
//! another program has stored under our topic. Each is ignored or reported, and nothing of ours is changed or lost.

use super::{TOPIC, numbers, open, small, write};
use evenkeel::cache::Cache;
use evenkeel::spool::{PendingEffect, Spool, SpoolError, SpoolOptions};
use evenkeel::{Keel, cache::Tier};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::process::{Station, Worker};
use testkit::servers::{Redis, RedisOptions};

const SEGMENT: &str = "00000000000000000001.spool";

/// A closed spool with the numbers 1 to 3.
async fn filled(dir: &Path) {
    let spool = open(dir).await;
    for number in 1..=3 {
        spool.append(write(number)).await.unwrap();
    }
    spool.close().await.unwrap();
}

/// The files of a folder, with their contents.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    paths.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

// shows: hazard A28a
#[tokio::test]
async fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let theirs = ["notes.txt", "00000000000000000002.spool.bak", ".spool", "spool", "00000000000000000002"];
    for name in theirs {
        fs::write(folder.path().join(name), b"of another program").unwrap();
    }
    fs::create_dir(folder.path().join("backup")).unwrap();
    let spool = open(folder.path()).await;
    assert_eq!(numbers(&spool), [1, 2, 3]);
    // Until it has begun and removed segments.
    for number in 4..40 {
        let sequence = spool.append(write(number)).await.unwrap();
        spool.done(&[sequence]);
    }
    spool.sync().await.unwrap();
    spool.close().await.unwrap();
    for name in theirs {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"of another program", "{name}");
    }
    assert_eq!(numbers(&open(folder.path()).await), [1, 2, 3]);
}

// shows: hazard A28a
#[tokio::test]
async fn foreign_or_later_segment_is_reported_and_left_alone() {
    let ours = tempfile::tempdir().unwrap();
    filled(ours.path()).await;
    let segment = fs::read(ours.path().join(SEGMENT)).unwrap();
    let later = [&b"EVKSPOO2"[..], &segment[8..]].concat();
    let other_number = "00000000000000000002.spool";
    let text = b"a text of another program, longer than the header of a segment".to_vec();
    let cases: [(&str, Vec<u8>); 6] = [
        (SEGMENT, later.clone()),
        (other_number, later),
        (SEGMENT, text.clone()),
        (other_number, text),
        // A copy of the first one under another number, and a name that is no number.
        (other_number, segment.clone()),
        ("notes.spool", segment.clone()),
    ];
    for (name, bytes) in cases {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path()).await;
        let file = folder.path().join(name);
        let kept = fs::read(&file).ok();
        fs::write(&file, bytes).unwrap();
        let before = files(folder.path());
        match Spool::open(folder.path(), small()).await {
            Err(SpoolError::Corrupt { file: named, offset: 0, reason }) => {
                assert_eq!(named, file, "{name}: {reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(files(folder.path()), before, "{name}: nothing was changed");
        match kept {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        assert_eq!(numbers(&open(folder.path()).await), [1, 2, 3], "{name}");
    }
}

/// The first program is alive, then killed; only one of two that start after it gets the folder.
// shows: hazard A28a
#[tokio::test]
async fn two_programs_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Worker::start("spool::neighbors::owner").unwrap();
    first.say(folder.path()).unwrap();
    assert_eq!(first.receive::<String>().await.unwrap(), "owns it");
    let before = files(folder.path());
    for _ in 0..3 {
        let refused = Spool::open(folder.path(), small()).await.unwrap_err();
        assert!(matches!(&refused, SpoolError::InUse { dir } if dir == folder.path()), "{refused}");
        let refused = Keel::builder().spool(folder.path(), small()).await.map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("in use by another process"), "{refused}");
    }
    assert_eq!(files(folder.path()), before, "the refused program has changed nothing");
    first.process().kill().unwrap();
    let (one, two) = tokio::join!(Spool::open(folder.path(), small()), Spool::open(folder.path(), small()));
    let (spool, refused) = match (one, two) {
        (Ok(spool), Err(refused)) | (Err(refused), Ok(spool)) => (spool, refused),
        other => panic!("one of them gets it: {other:?}"),
    };
    assert!(matches!(refused, SpoolError::InUse { .. }), "{refused}");
    assert_eq!(numbers(&spool), [1, 2, 3]);
}

#[tokio::test]
#[ignore = "a worker of `two_programs_do_not_share_a_folder`"]
async fn owner() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let dir: PathBuf = station.receive().await.unwrap();
    let spool = open(&dir).await;
    for number in 1..=3 {
        spool.append(write(number)).await.unwrap();
    }
    station.say("owns it").unwrap();
    station.until_finish().await;
}

/// What cannot be read is carried out as a purge of its key, and other topics stay.
// shows: hazard A28a
#[tokio::test]
async fn foreign_effects_under_a_cache_topic_purge_keys() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = async |keel: &Keel| -> Cache<u64, String> {
        keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap()
    };
    let read = async |rows: &Cache<u64, String>, key: u64, text: &str| {
        let text = text.to_owned();
        let load = async move { Ok::<_, Infallible>(Some(text)) };
        let found = rows.get_with(&key, evenkeel::cache::Freshness::Eventual, |_| load).await.unwrap();
        (found.value.unwrap().to_string(), found.tier)
    };
    let elsewhere = Keel::connect(&redis.url()).await.unwrap();
    let elsewhere = rows(&elsewhere).await;
    for key in 1..=4 {
        read(&elsewhere, key, "old").await;
    }
    let spool = Spool::open(folder.path(), SpoolOptions::default()).await.unwrap();
    let row = "evenkeel:c:row";
    spool.append(PendingEffect::delete(row, "1", "no parameters of ours")).await.unwrap();
    spool.append(PendingEffect::delete(row, "2", "")).await.unwrap();
    spool.append(PendingEffect::write(row, "3", vec![0xff; 300])).await.unwrap();
    spool.append(PendingEffect::delete(row, vec![0, 0xff], "a key of no row")).await.unwrap();
    spool.append(PendingEffect::delete(TOPIC, "1", "of another consumer")).await.unwrap();
    spool.close().await.unwrap();
    let builder = Keel::builder().spool(folder.path(), SpoolOptions::default()).await.unwrap();
    let keel = builder.connect(&redis.url()).await.unwrap();
    let ours = rows(&keel).await;
    for key in 1..=3 {
        assert_eq!(read(&ours, key, "new").await.0, "new", "{key}");
    }
    assert_eq!(read(&ours, 4, "new").await, ("old".to_owned(), Tier::Store), "nothing is pending for it");
    let spool = keel.spool().unwrap();
    testkit::eventually("the effects of the cache are done", async || spool.pending(row, 10).is_empty().then_some(()))
        .await
        .unwrap();
    assert_eq!(spool.pending(TOPIC, 10).len(), 1);
}
