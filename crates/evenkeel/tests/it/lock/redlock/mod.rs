//! The lock over several servers, in memory and on Redis.

/// Each story as a test on servers in memory and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                use crate::lock::redlock::fleet::Fleet;
                crate::in_time(super::$story(Fleet::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                use crate::lock::redlock::fleet::Fleet;
                crate::in_time(super::$story(Fleet::redis().await)).await;
            })+
        }
    };
}

mod cancel;
mod extremes;
mod fleet;
mod forgetting;
mod holds;
mod partial;
mod refusals;
mod servers;
