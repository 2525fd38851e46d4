//! The user's side of the queue, on both backends. Time is frozen unless a test advances it, and handlers end when a test
//! says so.

/// Each story as a test on the embedded store and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                use crate::queue::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                use crate::queue::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::redis().await)).await;
            })+
        }
    };
}

mod consuming;
mod desk;
mod extremes;
mod faults;
mod grows;
mod hostile;
mod killed;
mod large;
mod neighbors;
mod rig;
mod sending;
mod sentences;
mod troubles;
