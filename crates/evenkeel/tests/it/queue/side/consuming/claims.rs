//! When jobs start, and how many at once.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, ended, state};
use evenkeel::queue::{Handled, JobId, Priority};
use evenkeel_protocol::queue::steps::State;
use std::time::Duration;

on_both! {
    job_starts_when_due_and_not_before
    sent_job_is_handled
    due_job_wakes_an_idle_consumer
    consumer_claims_no_more_than_its_free_slots
    urgent_jobs_run_first
    jobs_of_all_shards_run
    two_consumers_share_the_jobs
    busy_consumer_takes_no_wake_up
    shard_worker_without_a_slot_keeps_its_wake_up
}

/// The consumer of a published queue polls once a second; another one starts due jobs up to half a minute late.
// shows: Q2, queue::Queue
async fn job_starts_when_due_and_not_before(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let later = mail.delay(Duration::from_millis(200), &"later".to_owned()).await.unwrap();
    let sooner_id = mail.delay(Duration::from_millis(199), &"sooner".to_owned()).await.unwrap();
    // Once this one is settled, the consumer knows when to poll again, and has no call in flight.
    let now = mail.now(&"now".to_owned()).await.unwrap();
    assert_eq!(desk.done().await, "now");
    ended(&mail, &now).await;

    rig.advance(Duration::from_millis(199)).await;
    let sooner = desk.next().await;
    assert_eq!(sooner.delivery.body, "sooner");
    assert_eq!(state(&mail, &later).await, Some(State::Waiting(Priority::Normal)), "not due for another millisecond");
    sooner.answer(Ok(Handled::Done));
    ended(&mail, &sooner_id).await;

    rig.advance(Duration::from_millis(1)).await;
    let case = desk.next().await;
    assert_eq!(case.delivery.body, "later");
    assert_eq!(case.delivery.due_at, Some(rig.now_ms()));
    case.answer(Ok(Handled::Done));
    office.close().await;
}

async fn sent_job_is_handled(rig: Rig) {
    let mail = rig.mail().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let order =
        mail.job(&"hello".to_owned()).id("welcome/{42}").trace(trace).header("tenant", "a").header("lang", "de");
    let sent = order.enqueue().await.unwrap();
    assert!(sent.is_new());

    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = desk.next().await;
    let delivery = &case.delivery;
    assert_eq!((delivery.body.as_str(), delivery.id, delivery.attempt), ("hello", sent.id, 1));
    assert_eq!(delivery.name(), Some(&b"welcome/{42}"[..]));
    assert_eq!(delivery.trace(), Some(trace));
    assert_eq!(
        delivery.headers().into_iter().collect::<Vec<_>>(),
        [("lang", "de"), ("tenant", "a")].map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(delivery.fence > 0 && !delivery.cancellation().is_cancelled());
    case.answer(Ok(Handled::Done));
    office.close().await;
}

/// Polling once a second costs a second.
// shows: Q2
async fn due_job_wakes_an_idle_consumer(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for number in 0..5 {
        // Time is frozen, so no consumer polls.
        mail.now(&format!("job {number}")).await.unwrap();
        assert_eq!(desk.done().await, format!("job {number}"));
    }
    office.close().await;
}

/// A7: a job claimed beyond the free slots waits in the process while its lease runs out.
// shows: Q7
async fn consumer_claims_no_more_than_its_free_slots(rig: Rig) {
    let mail = rig.mail().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(mail.now(&format!("job {number}")).await.unwrap());
    }
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(2));
    let cases = [desk.next().await, desk.next().await];
    let mut waiting = 0;
    for id in &ids {
        waiting += usize::from(state(&mail, id).await == Some(State::Waiting(Priority::Normal)));
    }
    assert_eq!(waiting, 3, "two slots, two leases");
    cases.into_iter().for_each(|case| case.answer(Ok(Handled::Done)));
    for _ in 0..3 {
        desk.done().await;
    }
    office.close().await;
    for id in &ids {
        assert_eq!(state(&mail, id).await, None);
    }
}

async fn urgent_jobs_run_first(rig: Rig) {
    let mail = rig.mail().await;
    let orders = [Priority::Low, Priority::Normal, Priority::Urgent, Priority::High];
    let orders = orders.map(|priority| (format!("{priority:?}"), priority));
    let sent =
        mail.enqueue_all(orders.iter().map(|(body, priority)| mail.job(body).priority(*priority))).await.unwrap();
    assert_eq!(sent.len(), 4);
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(1));
    for expected in ["Urgent", "High", "Normal", "Low"] {
        assert_eq!(desk.done().await, expected);
    }
    office.close().await;
}

// shows: Q9
async fn jobs_of_all_shards_run(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(4)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(3));
    let bodies: Vec<String> = (0..40).map(|number| format!("job {number:02}")).collect();
    let sent = mail.enqueue_all(bodies.iter().map(|body| mail.job(body))).await.unwrap();
    assert!(sent.iter().all(|sent| sent.is_new()));
    let mut done = Vec::new();
    for _ in 0..40 {
        done.push(desk.done().await);
    }
    done.sort();
    assert_eq!(done, bodies);
    office.close().await;
}

// shows: Q7
async fn two_consumers_share_the_jobs(rig: Rig) {
    let desk = Desk::new();
    let mail = rig.mail().await;
    for number in 0..4 {
        mail.now(&format!("job {number}")).await.unwrap();
    }
    let here = open(desk.consumer(&mail).concurrency(2));
    let there = open(desk.consumer(&rig.mail().await).concurrency(2));
    let mut cases = Vec::new();
    for _ in 0..4 {
        cases.push(desk.next().await);
    }
    let mut bodies: Vec<String> = cases.iter().map(|case| case.delivery.body.clone()).collect();
    bodies.sort();
    assert_eq!(bodies, ["job 0", "job 1", "job 2", "job 3"], "each once, all at once");
    cases.into_iter().for_each(|case| case.answer(Ok(Handled::Done)));
    here.close().await;
    there.close().await;
}

/// A process that takes a wake-up without a free slot delays the job by up to a second.
// shows: Q7
async fn busy_consumer_takes_no_wake_up(rig: Rig) {
    let mail = rig.mail().await;
    let (busy, idle) = (Desk::new(), Desk::new());
    let here = open(busy.consumer(&mail).concurrency(1));
    mail.now(&"long".to_owned()).await.unwrap();
    let held = busy.next().await;
    let there = open(idle.consumer(&rig.mail().await));
    for number in 0..5 {
        let id = mail.now(&format!("job {number}")).await.unwrap();
        assert_eq!(idle.done().await, format!("job {number}"));
        ended(&mail, &id).await;
    }
    held.answer(Ok(Handled::Done));
    here.close().await;
    there.close().await;
}

/// A shard worker that had received a wake-up while another one held all slots forgot it, and started the job up to a second
/// late.
async fn shard_worker_without_a_slot_keeps_its_wake_up(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2)).await;
    let shard_of = |name: &String| mail.steps(&JobId::named(name.as_bytes())).1;
    let names: Vec<String> = (0..20).map(|number| format!("job/{number}")).collect();
    let first = &names[0];
    let second = names.iter().find(|name| shard_of(name) != shard_of(first)).unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(1));
    let send = async |name: &String| mail.job(name).id(name).enqueue().await.unwrap();
    send(first).await;
    let case = desk.next().await;
    send(second).await;
    // Its shard worker waits for a marker and has no free slot: it receives the wake-up and cannot act on it yet.
    rig.until_notified(shard_of(second).tag()).await;
    assert!(desk.next_at_once().await.is_none(), "the first one has the only slot");
    case.answer(Ok(Handled::Done));
    assert_eq!(desk.done().await, *second, "without time passing");
    office.close().await;
}
