//! A topic that is spread over more shards while it is used.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, ended, state};
use evenkeel::queue::topic::JobState;
use evenkeel::queue::{Cron, Handled, JobId, Periodic, Priority, QueueError};
use evenkeel_protocol::queue::steps::{Enqueued, Found, Rescheduled, Revoked, State};
use std::collections::BTreeMap;
use std::time::Duration;

on_both! {
    every_job_is_found_after_growth
    consumer_follows_growth_of_its_topic
    running_job_moves_to_its_new_shard_after_the_run
    schedule_continues_in_its_new_shard
    jobs_of_a_killed_migration_are_received_later
    growth_to_a_non_multiple_is_rejected
}

const WAITING: Option<State> = Some(State::Waiting(Priority::Normal));

/// Jobs by name, due in an hour.
async fn send(mail: &Mail, names: &[String]) -> BTreeMap<String, JobId> {
    let orders = names.iter().map(|name| mail.job(name).id(name).delay(Duration::from_secs(20)));
    let sent = mail.enqueue_all(orders).await.unwrap();
    assert!(sent.iter().all(|sent| sent.is_new()));
    names.iter().cloned().zip(sent.into_iter().map(|sent| sent.id)).collect()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}/{number:02}")).collect()
}

// shows: Q9, spec/queue.md
async fn every_job_is_found_after_growth(rig: Rig) {
    let old = rig.mail_with(|builder| builder.shards(2)).await;
    let waiting = send(&old, &names("waiting", 30)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&old));
    let dead = old.job(&"dead".to_owned()).id("dead").enqueue().await.unwrap().id;
    desk.next().await.answer(Ok(Handled::Dead("no".to_owned())));
    let done = old.job(&"done".to_owned()).id("done").enqueue().await.unwrap().id;
    assert_eq!(desk.done().await, "done");
    ended(&old, &done).await;
    office.close().await;

    let grown = rig.process().await.topic("mail").await.unwrap().grow(8).await.unwrap();
    assert_eq!((grown.shards, grown.running), (8, 0));
    assert!(grown.moved > 10, "{grown:?}");
    // The old handle does not know of the growth; the new ones name the number they were written with, or the new one, or
    // none.
    let handles = [
        old,
        rig.mail().await,
        rig.mail_with(|builder| builder.shards(2)).await,
        rig.mail_with(|builder| builder.shards(8)).await,
    ];
    for mail in &handles {
        for (name, id) in &waiting {
            assert_eq!(state(mail, id).await, WAITING, "{name}");
            let again = mail.job(name).id(name).enqueue().await.unwrap();
            assert_eq!((again.id, again.answer), (*id, Enqueued::Duplicate), "{name}");
        }
        assert_eq!(state(mail, &dead).await, Some(State::Dead));
        assert_eq!(mail.job(&String::new()).id("dead").enqueue().await.unwrap().answer, Enqueued::Dead);
        let sent = mail.job(&String::new()).id("done").enqueue().await.unwrap().answer;
        assert!(matches!(sent, Enqueued::Ended(_)), "{sent:?}");
        assert_eq!(mail.revoke(&JobId::named(b"never")).await.unwrap(), Revoked::Unknown);
        let topic = mail.topic();
        assert_eq!(topic.stats().await.unwrap().shards.len(), 8);
        assert_eq!(topic.list(JobState::Waiting, None, 100).await.unwrap().len(), 30);
    }
    let mut left: Vec<JobId> = waiting.into_values().collect();
    for mail in &handles {
        assert_eq!(mail.revoke(&left.pop().unwrap()).await.unwrap(), Revoked::Revoked);
        let moved = left.pop().unwrap();
        assert_eq!(mail.reschedule_in(&moved, Duration::from_secs(7200)).await.unwrap(), Rescheduled::Changed);
        assert!(mail.job(&"new".to_owned()).enqueue().await.unwrap().is_new());
    }
    let refused = rig.process().await.queue::<String>("mail").shards(4).open().await;
    assert!(matches!(refused, Err(QueueError::Settings { .. })));
    // It keeps what it has, and a second call finds nothing to do.
    assert_eq!(handles[0].topic().grow(8).await.unwrap().moved, 0);
    assert_eq!(handles[0].topic().grow(16).await.unwrap().shards, 16);
    for id in &left {
        assert_eq!(state(&handles[2], id).await, WAITING);
    }
}

/// Processes are not restarted when a topic grows.
// shows: Q9
async fn consumer_follows_growth_of_its_topic(rig: Rig) {
    let old = rig.mail_with(|builder| builder.shards(1)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&old));
    let before = send(&old, &names("before", 12)).await;
    let topic = rig.process().await.topic("mail").await.unwrap();
    rig.while_time_passes(topic.grow(4)).await.unwrap();
    let producer = rig.mail().await;
    let after = send(&producer, &names("after", 12)).await;
    let mut expected: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    let mut done = Vec::new();
    for _ in 0..expected.len() {
        done.push(rig.while_time_passes(desk.done()).await);
    }
    done.sort();
    expected.sort();
    assert_eq!(done, expected, "each once");
    for id in before.values().chain(after.values()) {
        rig.while_time_passes(ended(&old, id)).await;
    }
    office.close().await;
}

async fn running_job_moves_to_its_new_shard_after_the_run(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(1)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(8));
    let bodies = names("job", 8);
    let sent = mail.enqueue_all(bodies.iter().map(|body| mail.job(body).id(body))).await.unwrap();
    let mut cases = Vec::new();
    for _ in 0..8 {
        cases.push(desk.next().await);
    }
    let topic = mail.topic();
    let growing = tokio::spawn(async move { topic.grow(4).await });
    // While they run they are still in their old shard, for every handle.
    let other = rig.mail().await;
    for sent in &sent {
        assert_eq!(state(&other, &sent.id).await, Some(State::Leased));
        assert_eq!(other.revoke(&sent.id).await.unwrap(), Revoked::Running);
    }
    let half = cases.split_off(4);
    half.into_iter().for_each(|case| case.answer(Ok(Handled::Snooze(Duration::from_secs(10)))));
    cases.into_iter().for_each(|case| case.answer(Ok(Handled::Done)));
    rig.while_time_passes(growing).await.unwrap().unwrap();
    let mut waiting = 0;
    for sent in &sent {
        waiting += usize::from(state(&other, &sent.id).await == WAITING);
        let again = other.job(&String::new()).id("job/00").enqueue().await.unwrap();
        assert!(!again.is_new());
    }
    assert!(waiting <= 4, "{waiting}");
    for _ in 0..waiting {
        rig.while_time_passes(desk.done()).await;
    }
    office.close().await;
}

async fn schedule_continues_in_its_new_shard(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(1)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let minutely = |mail: &Mail, name: &str| {
        mail.periodic(name, "* * * * *".parse::<Cron>().unwrap(), |time| time.to_string()).run(std::future::pending())
    };
    // Some of these are kept by other shards afterwards.
    let schedules = names("schedule", 6);
    let tasks: Vec<_> = schedules.iter().map(|name| tokio::spawn(minutely(&mail, name))).collect();
    let mut first: Vec<JobId> = Vec::new();
    for _ in &schedules {
        let case = rig.while_time_passes(desk.next()).await;
        first.push(case.delivery.id);
        case.answer(Ok(Handled::Done));
    }
    let topic = rig.process().await.topic("mail").await.unwrap();
    rig.while_time_passes(topic.grow(4)).await.unwrap();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..schedules.len() * 3 {
        let case = rig.while_time_passes(desk.next()).await;
        *seen.entry(case.delivery.body.clone()).or_default() += 1;
        assert!(ids.insert(case.delivery.id) && !first.contains(&case.delivery.id), "each tick once");
        case.answer(Ok(Handled::Done));
    }
    assert!(seen.values().all(|ticks| *ticks <= schedules.len()), "{seen:?}");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    office.close().await;
    let _ = Periodic::<String>::tick_id;
}

/// A migrating job is due in no shard: the process that took it out must not be the only one that can complete the move.
// shows: queue::Topic::grow, queue::Topic::grow_with
async fn jobs_of_a_killed_migration_are_received_later(rig: Rig) {
    use evenkeel_protocol::queue::grow::{Item, SendItems, SendOutcome};
    let mail = rig.mail_with(|builder| builder.shards(1)).await;
    let sent = send(&mail, &names("job", 8)).await;
    let topic = rig.process().await.topic("mail").await.unwrap();
    // Held up by a job that runs, the growth is killed there.
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(64));
    let mut runs = Vec::new();
    let bodies = names("runs", 8);
    mail.enqueue_all(bodies.iter().map(|body| mail.job(body).id(body))).await.unwrap();
    for _ in 0..8 {
        runs.push(desk.next().await);
    }
    let moving = tokio::spawn(async move { topic.grow(2).await });
    let keeper = |id: &JobId| id.shard(2);
    let moved = sent.values().find(|id| keeper(id) == 1).unwrap();
    while rig.mail().await.topic().stats().await.unwrap().shards.len() == 1
        || runs.iter().all(|case| keeper(&case.delivery.id) == 0)
        || rig.mail().await.topic().stats().await.unwrap().shards[1].waiting() == 0
    {
        tokio::task::yield_now().await;
    }
    moving.abort();
    let _ = moving.await;
    // A migration takes a late job out and dies: this job is in no shard, until a handle asks for it, or a consumer polls.
    let (steps, _) = mail.steps(moved);
    let old_shard = mail.steps(&JobId([0; 16])).1;
    let late = runs.iter().position(|case| keeper(&case.delivery.id) == 1).unwrap();
    let late = runs.swap_remove(late);
    let late_id = late.delivery.id;
    late.answer(Ok(Handled::Snooze(Duration::from_secs(5))));
    while state(&mail, &late_id).await != WAITING {
        tokio::task::yield_now().await;
    }
    assert_eq!(steps.run(&old_shard, &SendItems(vec![Item::Job(late_id)])).await.unwrap(), [SendOutcome::Sent]);
    runs.into_iter().for_each(|case| case.answer(Ok(Handled::Done)));
    let mut bodies = Vec::new();
    for _ in 0..9 {
        bodies.push(rig.while_time_passes(desk.done()).await);
    }
    assert!(bodies.iter().any(|body| JobId::named(body.as_bytes()) == late_id), "{bodies:?}");
    let Ok(None | Some(Found::Ended(_))) = mail.find(&late_id).await else { panic!("it is still there") };
    let grown = rig.process().await.topic("mail").await.unwrap();
    rig.while_time_passes(grown.grow(2)).await.unwrap();
    office.close().await;
}

// shows: queue::Topic::grow, queue::Topic::grow_with
async fn growth_to_a_non_multiple_is_rejected(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(4)).await;
    for shards in [0, 2, 6, 2048] {
        let refused = mail.topic().grow(shards).await;
        assert!(matches!(refused, Err(QueueError::Invalid(_))), "{shards}: {refused:?}");
    }
    assert_eq!(mail.topic().grow(4).await.unwrap().moved, 0);
}
