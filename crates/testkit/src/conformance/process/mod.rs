//! What every backend of the process reports must do.
//!
//! [`process_suite`](crate::process_suite) makes a test of each for one backend.

mod rig;

pub use rig::Rig;

use anyhow::Result;
use evenkeel_protocol::process::steps::{
    ALIVE_MS, LISTED_MAX, PROCESSES_MAX, REPORT_BYTES_MAX, REPORT_TTL_MS, SEEN_TTL_MS,
};

/// Makes a test of every function of the suite: `process_suite!(rig)`, where `rig` is an async function that answers
/// `anyhow::Result<Rig<_>>`.
#[macro_export]
macro_rules! process_suite {
    ($rig:path) => {
        $crate::process_suite!($rig:
            latest_report_of_each_process_is_listed_first, report_expires_before_the_time_of_it, process_that_leaves_is_not_listed,
            list_is_bounded, text_that_is_no_report_is_ignored, report_after_the_clock_was_set_back_is_listed,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::process::$name(&$rig().await?).await
            }
        )*
    };
}

/// A second report of a process replaces its first.
// shows: P1, process::Keel::processes
pub async fn latest_report_of_each_process_is_listed_first(rig: &Rig) -> Result<()> {
    assert_eq!(rig.list().await?.processes, []);
    rig.report("a.1.x", 1).await?;
    rig.time.advance(5).await?;
    rig.report("b.2.x", 2).await?;
    assert_eq!(rig.ids().await?, ["b.2.x", "a.1.x"]);
    rig.time.advance(5).await?;
    rig.report("a.1.x", 3).await?;
    let listed = rig.list().await?;
    assert_eq!((listed.now_ms, listed.further, listed.ignored), (rig.time.now(), 0, 0));
    let seen: Vec<_> = listed
        .processes
        .iter()
        .map(|process| (process.seen_ms, process.report.as_ref().map(|report| report.pid)))
        .collect();
    assert_eq!(seen, [(rig.time.now(), Some(3)), (rig.time.now() - 5, Some(2))]);
    Ok(())
}

/// A process that was killed is shown with the time of its last report for an hour.
// shows: P3
pub async fn report_expires_before_the_time_of_it(rig: &Rig) -> Result<()> {
    rig.report("a.1.x", 1).await?;
    rig.time.advance(ALIVE_MS).await?;
    let listed = rig.list().await?;
    assert!(listed.processes[0].is_alive(listed.now_ms) && listed.processes[0].report.is_some());
    rig.time.advance(1).await?;
    let listed = rig.list().await?;
    assert!(!listed.processes[0].is_alive(listed.now_ms) && listed.processes[0].report.is_some());
    rig.time.advance(REPORT_TTL_MS - ALIVE_MS - 1).await?;
    assert_eq!(rig.list().await?.processes[0].report, None);
    rig.time.advance(SEEN_TTL_MS - REPORT_TTL_MS).await?;
    assert_eq!(rig.ids().await?, ["a.1.x"]);
    rig.time.advance(1).await?;
    assert_eq!(rig.ids().await?, [""; 0]);
    Ok(())
}

/// A program that was stopped is not shown as one that was killed.
pub async fn process_that_leaves_is_not_listed(rig: &Rig) -> Result<()> {
    rig.report("a.1.x", 1).await?;
    rig.report("b.2.x", 2).await?;
    rig.leave("a.1.x").await?;
    rig.leave("c.3.x").await?;
    assert_eq!(rig.ids().await?, ["b.2.x"]);
    Ok(())
}

/// A process that restarts in a loop leaves a thousand names, not a million.
// shows: P3, process::Keel::processes
pub async fn list_is_bounded(rig: &Rig) -> Result<()> {
    for pid in 0..10 {
        rig.report(&format!("old.{pid}.x"), pid).await?;
    }
    rig.time.advance(1).await?;
    for pid in 0..LISTED_MAX {
        rig.report(&format!("new.{pid}.x"), 1).await?;
    }
    let listed = rig.list().await?;
    assert_eq!((listed.processes.len(), listed.further), (LISTED_MAX, 10));
    assert!(listed.processes.iter().all(|process| process.id.starts_with("new.")));
    for pid in LISTED_MAX..PROCESSES_MAX {
        rig.report(&format!("new.{pid}.x"), 1).await?;
    }
    assert_eq!(rig.list().await?.further, (PROCESSES_MAX - LISTED_MAX) as u64, "the ten old ones are forgotten");
    Ok(())
}

/// Another program, or a damaged one, stores something else: the other processes are listed.
// shows: P4
pub async fn text_that_is_no_report_is_ignored(rig: &Rig) -> Result<()> {
    let deep = "[".repeat(5_000);
    let large = format!(r#"{{"host": "{}"}}"#, "a".repeat(REPORT_BYTES_MAX));
    for (at, text) in ["", "not JSON", "[]", r#"{"pid": -1}"#, &deep, &large].into_iter().enumerate() {
        rig.store(&format!("a.{at}.x"), text).await?;
    }
    rig.store("a name with spaces", "{}").await?;
    rig.store(&"a".repeat(129), "{}").await?;
    rig.report("b.1.x", 1).await?;
    let listed = rig.list().await?;
    assert_eq!((listed.processes.len(), listed.ignored), (1, 8), "{listed:?}");
    Ok(())
}

/// Times that the server's clock has not reached are forgotten, and every living process reports again.
pub async fn report_after_the_clock_was_set_back_is_listed(rig: &Rig) -> Result<()> {
    rig.report("a.1.x", 1).await?;
    rig.report("b.2.x", 2).await?;
    rig.time.set_back(60_000).await?;
    assert_eq!(rig.ids().await?, [""; 0]);
    rig.report("a.1.x", 1).await?;
    assert_eq!(rig.ids().await?, ["a.1.x"]);
    rig.time.advance(60_000).await?;
    assert_eq!(rig.ids().await?, ["a.1.x"], "the other has not reported since");
    Ok(())
}
