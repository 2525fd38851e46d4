//! Tests of the library as its users see it. Modules are named after the capabilities.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

/// Each story as a test on the embedded store and on Redis, with the rig of its folder.
macro_rules! on_both_with {
    ($rig:ty: $($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                crate::in_time(super::$story(<$rig>::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                crate::in_time(super::$story(<$rig>::redis().await)).await;
            })+
        }
    };
}

mod blocks;
mod cache;
mod commands;
mod counts;
mod foreign;
mod hermetic;
mod id;
mod limit;
mod link;
mod lock;
mod log;
mod permissions;
mod polls;
mod process;
mod queue;
mod replies;
mod resources;
mod rig;
mod robustness;
mod spool;
mod sql;
mod stream;
mod waits;

/// Fails a test that waits for something that never happens. Without a guard many tests wait so; they have less time.
pub(crate) async fn in_time(story: impl Future<Output = ()>) {
    let is_mutant = std::env::var_os("EVENKEEL_MUTANT").is_some();
    let limit = std::time::Duration::from_secs(if is_mutant { 20 } else { 50 });
    assert!(tokio::time::timeout(limit, story).await.is_ok(), "the test waited for {limit:?} in vain");
}
