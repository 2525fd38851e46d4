//! The user's side of the cache, on both backends. Time is frozen unless a test advances it, and loads end when a test says
//! so.

/// Each story as a test on the embedded store and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                use crate::cache::reads::rig::{Rig, in_time};
                in_time(super::$story(Rig::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                use crate::cache::reads::rig::{Rig, in_time};
                in_time(super::$story(Rig::redis().await)).await;
            })+
        }
    };
}

mod batches;
mod breaker;
mod costs;
mod crowd;
mod db;
mod extremes;
mod fail_safe;
mod failures;
mod fences;
mod flights;
mod flood;
mod foreign;
mod freshness;
mod hostile;
mod joining;
mod large;
mod limits;
mod lives;
mod near;
mod neighbors;
mod on_replicas;
mod outage;
mod refresh;
mod refusals;
mod replicas;
mod rig;
mod sentences;
mod switches;
mod unreadable;
mod values;
mod waiting;
mod windows;
