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

mod answers;
mod batches;
mod claims;
mod codecs;
mod desk;
mod durable;
mod ends;
mod extremes;
mod failures;
mod faults;
mod grows;
mod hostile;
mod killed;
mod large;
mod layers;
mod leases;
mod logged;
mod openings;
mod periods;
mod registered;
mod rig;
mod sends;
mod sentences;
mod suspects;
mod troubles;
