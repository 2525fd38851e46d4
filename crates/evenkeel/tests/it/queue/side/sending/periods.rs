//! Periodic jobs.

use crate::counts::Counts;
use crate::log::Log;
use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Mail, Rig};
use evenkeel::queue::{Handled, JobId, Missed, Periodic, QueueError};
use evenkeel_protocol::queue::job::Priority;
use evenkeel_protocol::queue::steps::{List, State};
use std::time::Duration;
use tokio::task::JoinHandle;

on_both! {
    each_tick_runs_once_with_several_schedulers
    missed_ticks_are_skipped_or_made_up_for
    tick_is_enqueued_ahead_of_its_time
    newest_schedule_definition_wins_and_loses_no_tick
}

fn schedule(mail: &Mail, missed: Missed) -> Periodic<String> {
    mail.periodic("minutely", "* * * * *".parse().unwrap(), |time| time.strftime("%H:%M").to_string()).missed(missed)
}

fn run(periodic: Periodic<String>) -> JoinHandle<Result<(), QueueError>> {
    tokio::spawn(periodic.run(std::future::pending()))
}

/// The minutes of the ticks that wait, in order.
async fn waiting(mail: &Mail) -> Vec<u64> {
    let (steps, shard) = mail.steps(&JobId([0; 16]));
    let page = steps.run(&shard, &List::first(State::Waiting(Priority::Normal), 100)).await.unwrap();
    page.iter().map(|listed| listed.score / 60_000 % 60).collect()
}

/// Runs a schedule until the next tick waits; no time passes.
async fn run_for_a_moment(rig: &Rig, mail: &Mail, missed: Missed) -> Vec<u64> {
    let scheduler = run(schedule(mail, missed));
    let present = rig.now_ms() / 60_000 % 60;
    loop {
        let waiting = waiting(mail).await;
        if waiting.last().is_some_and(|minute| *minute > present) {
            scheduler.abort();
            return waiting;
        }
        tokio::task::yield_now().await;
    }
}

/// With several schedulers, other queues run each tick several times.
// shows: Q5
async fn each_tick_runs_once_with_several_schedulers(rig: Rig) {
    let mut schedulers = Vec::new();
    for _ in 0..3 {
        schedulers.push(run(schedule(&rig.mail().await, Missed::One)));
    }
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let mut ran = Vec::new();
    for _ in 0..5 {
        let case = rig.while_time_passes_by(Duration::from_secs(1), desk.next()).await;
        assert!(rig.now_ms() >= case.delivery.due_at.unwrap());
        ran.push(case.delivery.body.clone());
        case.answer(Ok(Handled::Done));
    }
    // The test's clock begins at 22:13:20.
    assert_eq!(ran, ["22:14", "22:15", "22:16", "22:17", "22:18"]);
    schedulers.into_iter().for_each(|scheduler| scheduler.abort());
    office.close().await;
}

// shows: queue::Periodic::run
async fn missed_ticks_are_skipped_or_made_up_for(rig: Rig) {
    let mut queues = Vec::new();
    for (name, missed, expected) in [
        ("skip", Missed::Skip, &[14, 19][..]),
        ("one", Missed::One, &[14, 18, 19]),
        ("all", Missed::All, &[14, 15, 16, 17, 18, 19]),
    ] {
        let queue: Mail = rig.process().await.queue(name).open().await.unwrap();
        assert_eq!(run_for_a_moment(&rig, &queue, missed).await, [14]);
        queues.push((queue, missed, expected));
    }
    rig.advance(Duration::from_secs(5 * 60)).await;
    for (queue, missed, expected) in queues {
        assert_eq!(run_for_a_moment(&rig, &queue, missed).await, expected, "{missed:?}");
    }
}

/// A tick that is enqueued at its due time is late if the scheduler is late, and lost if the scheduler is dead.
// shows: Q2
async fn tick_is_enqueued_ahead_of_its_time(rig: Rig) {
    let mail = rig.mail().await;
    run_for_a_moment(&rig, &mail, Missed::One).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!(case.delivery.body, "22:14");
    assert!(case.delivery.name().is_some_and(|name| name.starts_with(b"minutely/")));
    case.answer(Ok(Handled::Done));
    office.close().await;
}

/// The faster of two programs advanced the schedule by its own expression: the minutes between two ticks of a daily one were
/// lost.
// shows: hazard A5
async fn newest_schedule_definition_wins_and_loses_no_tick(rig: Rig) {
    let conflicts = Counts::of("evenkeel_queue_conflicts_total", "about");
    let _local = metrics::set_default_local_recorder(&conflicts);
    let (mail, log) = (rig.mail().await, Log::begin());
    let time = |time: &jiff::Zoned| time.strftime("%H:%M").to_string();
    let daily = run(mail.periodic("minutely", "0 3 * * *".parse().unwrap(), time));
    while waiting(&mail).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let minutely = run(schedule(&rig.mail().await, Missed::One));
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for expected in ["22:14", "22:15"] {
        assert_eq!(rig.while_time_passes_by(Duration::from_secs(1), desk.done()).await, expected);
    }
    // Programs with another definition follow the newest one, even after its program has ended.
    minutely.abort();
    for expected in ["22:16", "22:17"] {
        assert_eq!(rig.while_time_passes_by(Duration::from_secs(1), desk.done()).await, expected);
    }
    daily.abort();
    office.close().await;
    // Each program logs it once, with both definitions.
    let (newest, other) = ("counts=ScheduleRecord { cron: \"* * * * *\"", "other=ScheduleRecord { cron: \"0 3 * * *\"");
    for definition in [newest, other] {
        log.each_says("two programs define one schedule differently", &[definition; 2]);
    }
    assert_eq!(conflicts.take(), [("schedule".to_owned(), 2)], "and counts it");
}
