//! The user's side of locks, on both backends. Time is frozen unless a test advances it.

/// Each story as a test on the embedded store and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                use crate::lock::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                use crate::lock::side::rig::{Rig, in_time};
                in_time(super::$story(Rig::redis().await)).await;
            })+
        }
    };
}

mod bounds;
mod calls;
pub(super) mod cancel;
pub(super) mod extremes;
mod failures;
mod holds;
mod many;
mod pools;
mod queue;
pub(super) mod rig;
mod sentences;
mod sizes;
