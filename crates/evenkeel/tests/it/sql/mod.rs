//! The unit of work, its relay and its sinks.

/// Each story as a test on SQLite, MariaDB and PostgreSQL.
macro_rules! on_each {
    ($($story:ident)+) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $story() {
                use crate::sql::rig::{Rig, in_time};
                in_time(super::$story(Rig::<sqlx::Sqlite>::open().await)).await;
            })+
        }

        mod mariadb {
            $(#[tokio::test]
            async fn $story() {
                use crate::sql::rig::{Rig, in_time};
                in_time(super::$story(Rig::<sqlx::MySql>::open().await)).await;
            })+
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() {
                use crate::sql::rig::{Rig, in_time};
                in_time(super::$story(Rig::<sqlx::Postgres>::open().await)).await;
            })+
        }
    };
}

mod contention;
pub(crate) mod databases;
mod ends;
mod errors;
mod extremes;
mod inbox;
pub(crate) mod jobs;
mod large;
mod locks;
mod outages;
mod pages;
pub(crate) mod relay;
mod rig;
pub(crate) mod robustness;
mod silence;
mod sim;
mod sink;
mod transactions;
mod verdicts;
mod ways_in;
mod work;
