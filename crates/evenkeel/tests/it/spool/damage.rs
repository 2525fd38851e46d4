//! A record that a crash left half written is truncated; any other damage is an error with its position, and nothing is
//! changed.

use super::{numbers, open, small, write};
use evenkeel::spool::{Spool, SpoolError};
use evenkeel::testing::spool_format::{FRAME_HEADER_BYTES, HEADER_BYTES};
use std::fs;
use std::path::{Path, PathBuf};

/// The segments in a folder, oldest first.
fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let mut segments: Vec<PathBuf> = files.filter(|path| path.extension().is_some()).collect();
    segments.sort();
    segments
}

/// A spool with one record for each of `count` numbers, closed.
async fn filled(dir: &Path, count: u32) -> Vec<PathBuf> {
    let spool = open(dir).await;
    for number in 1..=count {
        spool.append(write(number)).await.unwrap();
    }
    spool.close().await.unwrap();
    segments(dir)
}

/// Where the records of a segment begin, and where the last one ends.
fn places(bytes: &[u8]) -> Vec<usize> {
    let mut places = vec![HEADER_BYTES];
    while let Some(at) = places.last().copied().filter(|at| *at < bytes.len()) {
        let body = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        places.push(at + FRAME_HEADER_BYTES + body);
    }
    places
}

// shows: C7, spool::Spool
#[tokio::test]
async fn truncated_last_record_is_the_only_one_lost() {
    let folder = tempfile::tempdir().unwrap();
    let files = filled(folder.path(), 3).await;
    let [file] = files.as_slice() else { panic!("one segment: {files:?}") };
    let whole = fs::read(file).unwrap();
    let places = places(&whole);
    for length in places[2]..whole.len() {
        fs::write(file, &whole[..length]).unwrap();
        let spool = open(folder.path()).await;
        assert_eq!(numbers(&spool), [1, 2], "cut at {length}");
        assert_eq!(spool.stats().torn_bytes, (length - places[2]) as u64);
        spool.append(write(4)).await.unwrap();
        spool.close().await.unwrap();
        let spool = open(folder.path()).await;
        assert_eq!(numbers(&spool), [1, 2, 4], "cut at {length}, and written to again");
        spool.close().await.unwrap();
    }
}

// shows: C7, spool::Spool, spool::Spool::open
#[tokio::test]
async fn damaged_record_is_an_error_with_its_position() {
    let folder = tempfile::tempdir().unwrap();
    let files = filled(folder.path(), 3).await;
    let whole = fs::read(&files[0]).unwrap();
    let places = places(&whole);
    // The length, the checksums, and the body of the second record.
    for place in places[1]..places[2] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x40;
        fs::write(&files[0], &damaged).unwrap();
        match Spool::open(folder.path(), small()).await {
            Err(SpoolError::Corrupt { file, offset, .. }) => {
                assert_eq!((file.as_path(), offset), (files[0].as_path(), places[1] as u64), "byte {place}");
            }
            other => panic!("byte {place}: {other:?}"),
        }
        assert_eq!(fs::read(&files[0]).unwrap(), damaged, "nothing was changed");
    }
}

// shows: spool::Spool
#[tokio::test]
async fn missing_or_truncated_earlier_segment_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let files = filled(folder.path(), 30).await;
    assert!(files.len() >= 4, "{files:?}");
    let second = fs::read(&files[1]).unwrap();
    fs::write(&files[1], &second[..second.len() - 1]).unwrap();
    let cut = Spool::open(folder.path(), small()).await.unwrap_err();
    assert!(matches!(&cut, SpoolError::Corrupt { file, .. } if *file == files[1]), "{cut}");
    fs::remove_file(&files[1]).unwrap();
    let missing = Spool::open(folder.path(), small()).await.unwrap_err();
    assert!(missing.to_string().contains("missing"), "{missing}");
    fs::write(&files[1], &second).unwrap();
    assert_eq!(numbers(&open(folder.path()).await).len(), 30);
}
