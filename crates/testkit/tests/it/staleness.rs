//! The staleness checker on histories whose verdict is known.

use std::time::Duration;
use testkit::history::{Act, EventTime, History, Operation, Recorder, staleness};

const fn at(order: u64) -> EventTime {
    EventTime { order, nanoseconds: order * 1000 }
}

fn operation(key: &str, act: Act<u64>, invoked: u64, returned: Option<u64>) -> Operation<u64> {
    Operation { process: 1, key: key.into(), act, invoked: at(invoked), returned: returned.map(at) }
}

fn write(version: u64, invoked: u64, returned: impl Into<Option<u64>>) -> Operation<u64> {
    operation("k", Act::Write(Some(version)), invoked, returned.into())
}

fn read(version: u64, invoked: u64) -> Operation<u64> {
    operation("k", Act::Read(Some(version)), invoked, Some(invoked + 1))
}

#[test]
fn read_before_an_acknowledgement_may_return_either() {
    for version in [1, 2] {
        let history = History(vec![write(1, 0, 1), write(2, 10, 20), read(version, 19)]);
        let found = staleness(&history);
        assert_eq!((found.reads, found.writes, found.stale.len()), (1, 2, 0));
        found.within(Duration::ZERO).unwrap();
    }
}

#[test]
fn read_after_an_acknowledgement_must_not_be_older() {
    let history = History(vec![write(1, 0, 1), write(2, 10, 20), write(3, 30, 40), read(1, 50), read(3, 60)]);
    let found = staleness(&history);
    let [stale] = &found.stale[..] else { unreachable!("one stale read, not {:?}", found.stale) };
    assert_eq!((stale.returned, stale.acknowledged, stale.versions_behind), (1, 3, 2));
    assert_eq!(stale.age, Duration::from_micros(30), "since version 2 was acknowledged");
    assert_eq!(found.age_max(), stale.age);

    found.within(Duration::from_micros(30)).unwrap();
    let text = found.within(Duration::from_micros(29)).unwrap_err().to_string();
    assert!(text.contains("version 1 of \"k\" although 3 had been acknowledged"), "{text}");
    let marked = text.lines().find(|line| line.starts_with('>')).unwrap();
    assert!(marked.contains("read = 1"), "{text}");
}

/// Two writers: the later acknowledgement may be that of the lower version.
#[test]
fn highest_acknowledged_version_counts() {
    let history = History(vec![write(5, 0, 1), write(4, 0, 9), read(4, 20)]);
    assert_eq!(staleness(&history).stale[0].acknowledged, 5);
}

#[test]
fn unknown_outcome_requires_nothing() {
    let unknown = History(vec![write(1, 0, 1), write(2, 2, None), read(1, 50)]);
    assert!(staleness(&unknown).stale.is_empty());
    let absent = History(vec![write(1, 0, 1), operation("k", Act::Read(None), 5, Some(6))]);
    assert_eq!(staleness(&absent).stale[0].returned, 0);
}

#[test]
fn keys_are_checked_separately() {
    let history = History(vec![write(7, 0, 1), operation("other", Act::Read(None), 5, Some(6))]);
    assert!(staleness(&history).stale.is_empty());
}

#[test]
fn recorder_orders_moments_and_keeps_known_outcomes() {
    for recorder in [Recorder::new(), Recorder::machine_wide()] {
        let early = recorder.read(1, "k");
        recorder.write(2, "k", Some(1)).acknowledged();
        recorder.write(2, "k", Some(2)).refused();
        recorder.write(2, "k", Some(3)).unknown();
        drop(recorder.write(2, "k", Some(4)));
        drop(recorder.read(3, "k"));
        early.saw(None);
        let mut late = recorder.clone();
        late.read(3, "k").saw(None);
        late = recorder;
        let found = staleness(&late.history());
        assert_eq!((found.reads, found.writes, found.stale.len()), (2, 1, 1), "only the late read is stale: {found}");
        assert_eq!(found.stale[0].process, 3);
        assert_eq!(late.history().0.len(), 5);
    }
}

#[test]
fn histories_are_serializable_between_processes() {
    let recorder = Recorder::machine_wide();
    recorder.write(1, "k", Some(1)).acknowledged();
    let mut here = recorder.history();
    let there: History<u64> = serde_json::from_str(&serde_json::to_string(&here).unwrap()).unwrap();
    assert_eq!(there, here);
    here.merge(there);
    assert_eq!(here.by_key()["k"].len(), 2);
}
