//! Callbacks of an operator's calls that panic or block: another call continues what was begun, and a watch goes on.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, in_time, state};
use crate::blocks::{block, unblock};
use crate::log::Log;
use evenkeel::queue::topic::JobState;
use evenkeel::queue::topic::alert::{AlertKind, AlertLimits, Watch};
use evenkeel::queue::{Handled, JobId, Priority};
use evenkeel_protocol::queue::steps::State;
use std::time::Duration;
use tokio::sync::mpsc;

on_both! {
    redrive_whose_progress_panics_is_continued_by_the_next
    growth_after_progress_panic_is_completed_by_next_call
    watch_continues_after_a_panic_in_its_hook
}

const WAITING: Option<State> = Some(State::Waiting(Priority::Normal));

/// So many jobs that are dead.
async fn dead(mail: &Mail, count: usize) -> Vec<JobId> {
    let desk = Desk::new();
    let office = open(desk.consumer(mail));
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(mail.now(&format!("letter {number}")).await.unwrap());
        desk.next().await.answer(Ok(Handled::Dead("no such account".to_owned())));
    }
    for id in &ids {
        while state(mail, id).await != Some(State::Dead) {
            tokio::task::yield_now().await;
        }
    }
    office.close().await;
    ids
}

// shows: hazard A9
async fn redrive_whose_progress_panics_is_continued_by_the_next(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2)).await;
    let ids = dead(&mail, 6).await;
    let (topic, called) = (mail.topic(), mpsc::unbounded_channel());
    let (sender, mut pages) = called;
    let ran = tokio::spawn(async move {
        // A page is one dead letter.
        let redrive = topic.redrive("after the outage").per_second(1);
        let progress = |report: &evenkeel::queue::topic::RedriveReport| {
            sender.send(report.taken).unwrap();
            assert!(report.taken < 2, "on purpose");
        };
        redrive.run_with(progress).await.map(drop)
    });
    assert!(ran.await.unwrap_err().is_panic(), "it is the caller's");
    let mut last = 0;
    while let Ok(taken) = pages.try_recv() {
        last = taken;
    }
    assert_eq!(last, 2);
    let rest = mail.topic().redrive("after the outage").run().await.unwrap();
    assert_eq!((rest.taken, rest.taken_in_all), (4, 6), "each once");
    for id in &ids {
        assert_eq!(state(&mail, id).await, WAITING);
    }
}

// shows: hazard A9
async fn growth_after_progress_panic_is_completed_by_next_call(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2)).await;
    let letters = (0..24).map(|number| format!("letter {number}")).collect::<Vec<_>>();
    let jobs = letters.iter().map(|letter| mail.job(letter).delay(Duration::from_secs(20)));
    let sent = mail.enqueue_all(jobs).await.unwrap();
    let topic = mail.topic();
    let grown = tokio::spawn(async move { topic.grow_with(8, |_| panic!("on purpose")).await.map(drop) });
    assert!(grown.await.unwrap_err().is_panic(), "the panic reaches the caller");
    let early = mail.now(&"during the migration".to_owned()).await.unwrap();
    for id in sent.iter().map(|sent| &sent.id).chain([&early]) {
        assert_eq!(state(&mail, id).await, WAITING);
    }
    assert_eq!(rig.mail().await.topic().grow(8).await.unwrap().shards, 8);
    for id in sent.iter().map(|sent| &sent.id).chain([&early]) {
        assert_eq!(state(&mail, id).await, WAITING);
    }
    let listed = mail.topic().list(JobState::Waiting, None, 100).await.unwrap();
    assert_eq!(listed.len(), 25, "each once");
}

const LIMITS: AlertLimits =
    AlertLimits { backlog_max: Some(0), late_ms_max: None, dead_max: Some(0), idle_ms_max: None, running_ms_max: None };

/// A panic ended the watch: no alert was raised any more, and the alerts of the same check were lost.
// shows: hazard A9
async fn watch_continues_after_a_panic_in_its_hook(rig: Rig) {
    let mail = rig.mail().await;
    dead(&mail, 1).await;
    let waiting = mail.delay(Duration::from_secs(60), &"letter".to_owned()).await.unwrap();
    let (sender, mut changes) = mpsc::unbounded_channel();
    let log = Log::begin();
    let watch = Watch::new(mail.topic(), LIMITS).run(Duration::from_secs(1), move |alert| {
        sender.send((alert.kind, alert.raised)).unwrap();
        assert!(alert.kind != AlertKind::Backlog || !alert.raised, "on purpose");
    });
    let watch = tokio::spawn(watch);
    assert_eq!(rig.while_time_passes(changes.recv()).await, Some((AlertKind::Backlog, true)));
    assert_eq!(rig.while_time_passes(changes.recv()).await, Some((AlertKind::DeadLetters, true)));
    mail.revoke(&waiting).await.unwrap();
    assert_eq!(rig.while_time_passes(changes.recv()).await, Some((AlertKind::Backlog, false)));
    log.each_says("the hook of a watch panicked", &["on purpose"]);
    watch.abort();
}

/// The hook runs where the watch does: nothing else waits for it.
// shows: hazard A9
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn blocking_alert_hook_delays_only_its_watch() {
    in_time(async {
        let rig = Rig::memory();
        let mail = rig.mail().await;
        let waiting = mail.delay(Duration::from_secs(60), &"letter".to_owned()).await.unwrap();
        let (sender, mut changes) = mpsc::unbounded_channel();
        let watch = Watch::new(mail.topic(), LIMITS).run(Duration::from_secs(1), move |alert| {
            sender.send((alert.kind, alert.raised)).unwrap();
            block();
        });
        let watch = tokio::spawn(watch);
        assert_eq!(changes.recv().await, Some((AlertKind::Backlog, true)));
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        mail.now(&"served".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "served");
        office.close().await;
        unblock();
        mail.revoke(&waiting).await.unwrap();
        assert_eq!(rig.while_time_passes(changes.recv()).await, Some((AlertKind::Backlog, false)));
        watch.abort();
    })
    .await;
}
