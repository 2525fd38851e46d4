//! What the report of a process shows, on both backends.

use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::process::{Process, ProcessReport};
use evenkeel::queue::{Cron, Delivery, Queue};
use evenkeel::stream::Entry;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use testkit::eventually;
use tokio::sync::{Semaphore, mpsc};

on_both_with! {crate::rig::Fleet:
    report_shows_the_counters_of_caches
    report_shows_jobs_that_run
    report_shows_locks_that_are_held
    report_shows_schedules_with_their_next_tick
    report_shows_consumers_of_streams
    report_shows_the_process_itself
    switched_off_process_is_not_listed
    process_that_is_shut_down_is_not_listed
}

/// The report of this keel as another process reads it.
async fn reported(fleet: &Fleet, keel: &Keel) -> Option<ProcessReport> {
    keel.report_once().await.unwrap();
    let own = |process: &Process| process.report.as_ref().is_some_and(|report| !report.is_idle());
    let found = fleet.process().await.processes().await.unwrap();
    found.processes.into_iter().find(own)?.report
}

trait IsIdle {
    fn is_idle(&self) -> bool;
}

impl IsIdle for ProcessReport {
    fn is_idle(&self) -> bool {
        self.caches.is_empty()
            && self.consumers.is_empty()
            && self.locks.is_empty()
            && self.schedules.is_empty()
            && self.stream_consumers.is_empty()
    }
}

// shows: P2
async fn report_shows_the_counters_of_caches(fleet: Fleet) {
    let keel = fleet.process().await;
    let users: Cache<u64, u64> = keel.cache("user").ttl(Duration::from_secs(60)).open().await.unwrap();
    let load = async |key: u64| if key == 9 { Err(std::io::Error::other("away")) } else { Ok(Some(key)) };
    for key in [1, 1, 1, 2] {
        users.get(&key, |key| load(*key)).await.unwrap();
    }
    assert!(users.get(&9, |key| load(*key)).await.is_err());
    let report = reported(&fleet, &keel).await.unwrap();
    let cache = &report.caches[0];
    assert_eq!((cache.cache.as_str(), cache.hits, cache.misses), ("user", 2, 3), "{cache:?}");
    assert_eq!((cache.loads, cache.loads_failed, cache.stale_hits, cache.shed), (2, 1, 0, 0), "{cache:?}");
}

// shows: P2
async fn report_shows_jobs_that_run(fleet: Fleet) {
    let keel = fleet.process().await;
    let mail: Queue<u64> = keel.queue("mail").open().await.unwrap();
    let sent = mail.job(&7).enqueue().await.unwrap();
    let (started, mut starts) = mpsc::unbounded_channel();
    let may_end = Arc::new(Semaphore::new(0));
    let consumer = mail.consume({
        let may_end = Arc::clone(&may_end);
        move |_: Delivery<u64>| {
            let (started, may_end) = (started.clone(), Arc::clone(&may_end));
            async move {
                let _ = started.send(());
                let _ = may_end.acquire().await;
                Ok::<_, std::io::Error>(())
            }
        }
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(consumer.concurrency(4).run(async {
        let _ = stopped.await;
    }));
    fleet.while_time_passes(starts.recv()).await.unwrap();
    let report = reported(&fleet, &keel).await.unwrap();
    let consumer = &report.consumers[0];
    assert_eq!((consumer.topic.as_str(), consumer.slots), ("mail", 4));
    assert!((1..=4).contains(&consumer.used), "{consumer:?}");
    let jobs: Vec<_> = report.jobs.iter().map(|job| (job.topic.as_str(), job.id.clone(), job.attempt)).collect();
    assert_eq!(jobs, [("mail", sent.id.to_string(), 1)]);
    assert!(report.jobs[0].since_ms.abs_diff(fleet.now_ms()) < 60_000, "{:?}", report.jobs[0]);
    assert_eq!(consumer.handled, 0, "its handler runs");
    may_end.add_permits(1);
    let handled = async || Some(reported(&fleet, &keel).await?.consumers.first()?.handled).filter(|count| *count == 1);
    eventually("the handler that has returned is counted", handled).await.unwrap();
    stop.send(()).unwrap();
    fleet.while_time_passes(running).await.unwrap().unwrap();
    let is_gone = async || reported(&fleet, &keel).await.is_none().then_some(());
    eventually("a consumer that has ended is not shown", is_gone).await.unwrap();
}

// shows: P2
async fn report_shows_locks_that_are_held(fleet: Fleet) {
    let keel = fleet.process().await;
    let guard = keel.lock("stock/42").acquire().await.unwrap();
    let reader = keel.rw_lock("prices").read().acquire().await.unwrap();
    fleet.advance(Duration::from_secs(2)).await;
    let report = reported(&fleet, &keel).await.unwrap();
    let mut locks: Vec<_> = report.locks.iter().map(|lock| (lock.lock.as_str(), lock.fence)).collect();
    locks.sort_unstable();
    assert_eq!(locks, [("prices", reader.fence().0), ("stock/42", guard.fence().0)]);
    drop(reader);
    guard.release().await.unwrap();
    assert!(reported(&fleet, &keel).await.is_none(), "a released lock is not shown");
}

// shows: P2
async fn report_shows_schedules_with_their_next_tick(fleet: Fleet) {
    let keel = fleet.process().await;
    let reports: Queue<String> = keel.queue("report").open().await.unwrap();
    let cron: Cron = "0 3 * * *".parse().unwrap();
    let nightly = tokio::spawn(reports.periodic("nightly", cron, |_| String::new()).run(pending()));
    let report = eventually("the schedule has its next tick", async || {
        reported(&fleet, &keel).await.filter(|report| report.schedules[0].next_ms.is_some())
    });
    let report = report.await.unwrap();
    let schedule = &report.schedules[0];
    assert_eq!(
        (schedule.topic.as_str(), schedule.schedule.as_str(), schedule.cron.as_str()),
        ("report", "nightly", "0 3 * * *")
    );
    assert!(schedule.next_ms > Some(fleet.now_ms()), "{schedule:?}");
    nightly.abort();
    assert!(nightly.await.unwrap_err().is_cancelled());
    assert!(reported(&fleet, &keel).await.is_none(), "a schedule that has ended is not shown");
}

// shows: P2
async fn report_shows_consumers_of_streams(fleet: Fleet) {
    let keel = fleet.process().await;
    let orders = keel.stream::<u64>("orders").partitions(1).open().await.unwrap();
    let (started, mut starts) = mpsc::unbounded_channel();
    let consumer = orders.group("billing").handle(move |_: Entry<u64>| {
        let _ = started.send(());
        pending::<Result<(), std::io::Error>>()
    });
    let running = tokio::spawn(consumer.concurrency(3).run(pending()));
    orders.append("order/7", &7).await.unwrap();
    fleet.while_time_passes(starts.recv()).await.unwrap();
    let report = reported(&fleet, &keel).await.unwrap();
    let consumer = &report.stream_consumers[0];
    assert_eq!((consumer.stream.as_str(), consumer.group.as_str()), ("orders", "billing"));
    assert!(consumer.slots == 3 && (1..=3).contains(&consumer.used), "{consumer:?}");
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
}

// shows: P2, process::Keel::processes
async fn report_shows_the_process_itself(fleet: Fleet) {
    let keel = fleet.process().await;
    keel.report_once().await.unwrap();
    let found = keel.processes().await.unwrap();
    assert_eq!((found.processes.len(), found.ignored, found.further), (1, 0, 0));
    let process = &found.processes[0];
    let report = process.report.as_ref().unwrap();
    assert_eq!((report.pid, report.version.as_str()), (std::process::id(), env!("CARGO_PKG_VERSION")));
    assert!(!report.host.is_empty() && process.id.contains(&format!(".{}.", report.pid)), "{process:?}");
    assert_eq!(report.epoch, keel.link().and_then(|link| link.epoch()).map(|epoch| epoch.number()));
    assert!(process.is_alive(found.now_ms));
}

// shows: process::Keel::processes
async fn switched_off_process_is_not_listed(fleet: Fleet) {
    let keel = fleet.process_that_reports(false).await;
    let _guard = keel.lock("stock/42").acquire().await.unwrap();
    fleet.advance(Duration::from_secs(60)).await;
    let found = keel.processes().await.unwrap();
    // The fleet itself reports, too.
    let reports: Vec<ProcessReport> = found.processes.into_iter().filter_map(|process| process.report).collect();
    assert!(reports.iter().all(IsIdle::is_idle), "{reports:?}");
}

async fn process_that_is_shut_down_is_not_listed(fleet: Fleet) {
    let (keel, other) = (fleet.process().await, fleet.process_that_reports(false).await);
    keel.report_once().await.unwrap();
    keel.shutdown(Duration::from_secs(1)).await;
    assert_eq!(other.processes().await.unwrap().processes, []);
}

/// The report in the background, and what Redis keeps of it.
// shows: P1, process::Keel::processes
#[tokio::test]
async fn process_on_redis_reports_every_ten_seconds() {
    let fleet = Fleet::redis().await;
    let keel = fleet.process().await;
    assert_eq!(keel.processes().await.unwrap().processes, []);
    let listed = async |after: u64| {
        let is_after = |process: &Process| process.seen_ms > after;
        eventually("the process reports", async || {
            fleet.advance(Duration::from_secs(10)).await;
            keel.processes().await.unwrap().processes.into_iter().find(is_after)
        })
        .await
        .unwrap()
    };
    let first = listed(0).await;
    listed(first.seen_ms).await;
    let key = format!("{}:{{p}}:{}", fleet.prefix(), first.id);
    let ttl = fleet.command(key.as_bytes(), ::redis::cmd("PTTL").arg(&key)).await;
    assert!(matches!(ttl, ::redis::Value::Int(1..=60_000)), "{ttl:?}");
}
