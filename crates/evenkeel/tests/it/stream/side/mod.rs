//! The user's side of streams, on both backends. Time is frozen unless a test advances it, and handlers end when a test says so.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::stream::side::rig::Rig: $($story)+} };
}

/// Each story on Redis, and on SQLite, MariaDB and PostgreSQL.
macro_rules! on_redis_and_each_database {
    ($($story:ident)+) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $story() {
                let database = crate::sql::databases::TestDatabase::<sqlx::Sqlite>::open().await;
                crate::in_time(super::$story(super::Rig::redis().await, database)).await;
            })+
        }

        mod mariadb {
            $(#[tokio::test]
            async fn $story() {
                let database = crate::sql::databases::TestDatabase::<sqlx::MySql>::open().await;
                crate::in_time(super::$story(super::Rig::redis().await, database)).await;
            })+
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() {
                let database = crate::sql::databases::TestDatabase::<sqlx::Postgres>::open().await;
                crate::in_time(super::$story(super::Rig::redis().await, database)).await;
            })+
        }
    };
}

mod admin;
mod appends;
mod delivery;
pub(crate) mod extremes;
mod faults;
mod hostile;
mod large;
mod neighbors;
mod recovery;
mod rig;
pub(crate) mod robustness;
mod sequences;
mod works;
