//! The fence in the database: an earlier holder overwrites nothing after a later holder's transaction has begun.

/// Each story on the databases it names.
macro_rules! on_databases {
    ($($story:ident)+) => {
        mod mariadb {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                super::$story(crate::lock::fence::shelf::Stand::<sqlx::MySql>::mariadb().await?).await
            })+
        }

        mod postgres {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                super::$story(crate::lock::fence::shelf::Stand::<sqlx::Postgres>::postgres().await?).await
            })+
        }

        mod sqlite {
            $(#[tokio::test]
            async fn $story() -> anyhow::Result<()> {
                super::$story(crate::lock::fence::shelf::Stand::<sqlx::Sqlite>::sqlite().await?).await
            })+
        }
    };
}

mod databases;
mod holder;
mod outlived;
mod paused;
mod readers;
mod redlock;
mod refusals;
mod shelf;
