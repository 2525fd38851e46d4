//! The user's side of streams, on both backends. Time is frozen unless a test advances it, and handlers end when a test says so.

/// Each story as a test on the embedded store and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                use crate::stream::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                use crate::stream::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::redis().await)).await;
            })+
        }
    };
}

mod admin;
mod appends;
mod batches;
mod extremes;
mod failures;
mod faults;
mod hostile;
mod order;
mod owners;
mod rig;
mod suspects;
mod works;
