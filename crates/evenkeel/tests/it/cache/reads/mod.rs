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

mod costs;
mod db;
mod extremes;
mod hostile;
mod large;
mod loads;
mod near;
mod rig;
mod sentences;
mod staleness;
mod store;
mod values;
