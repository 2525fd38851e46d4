//! Rows that are locked while they are read, and the error of each database when another transaction has locked them.

use crate::sql::rig::{Rig, Sql};
use evenkeel::sql::{Conflict, Contended, ForUpdate};
use sqlx::{MySql, Postgres, Sqlite};
use std::time::Duration;
use testkit::eventually;

const FIRST: &str = "SELECT units FROM stock WHERE id = 1";
const EACH: &str = "SELECT id FROM stock ORDER BY id";

/// Each story on the databases that lock rows.
macro_rules! on_those_with_row_locks {
    ($($story:ident)+) => {
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

on_those_with_row_locks! {
    nowait_fails_on_a_locked_row
    skip_locked_omits_a_locked_row
    lock_timeout_bounds_the_wait_for_a_row
    locking_in_different_orders_is_a_deadlock_error
}

// shows: KC1
async fn nowait_fails_on_a_locked_row<DB: Sql>(rig: Rig<DB>) {
    let mut holder = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    let units = DB::number(holder.tx().unwrap(), &ForUpdate::Wait.of::<DB>(FIRST).0).await.unwrap();
    assert_eq!(units, Some(10));
    let mut other = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    let refused = DB::number(other.tx().unwrap(), &ForUpdate::NoWait.of::<DB>(FIRST).0).await.unwrap_err();
    assert_eq!(refused.conflict(), Some(Conflict::NotGranted), "{refused}");
    other.rollback().await.unwrap();
    holder.commit().await.unwrap();
    let mut other = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    assert_eq!(DB::number(other.tx().unwrap(), &ForUpdate::NoWait.of::<DB>(FIRST).0).await.unwrap(), Some(10));
    other.commit().await.unwrap();
}

// shows: KC1
async fn skip_locked_omits_a_locked_row<DB: Sql>(rig: Rig<DB>) {
    let mut holder = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    DB::number(holder.tx().unwrap(), &ForUpdate::Wait.of::<DB>(FIRST).0).await.unwrap();
    let mut other = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    let free = DB::number(other.tx().unwrap(), &ForUpdate::SkipLocked.of::<DB>(EACH).0).await.unwrap();
    assert_eq!(free, Some(2), "the first of those that are free");
    drop((holder, other));
}

/// The servers' defaults are fifty seconds, and no limit.
// shows: KC1, sql::Keel::begin_locking, sql::LockingTransaction::tx, sql::LockingTransaction::commit
// shows: sql::LockingTransaction::rollback
async fn lock_timeout_bounds_the_wait_for_a_row<DB: Sql>(rig: Rig<DB>) {
    let mut holder = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    DB::number(holder.tx().unwrap(), &ForUpdate::Wait.of::<DB>(FIRST).0).await.unwrap();
    let mut other = rig.keel.begin_locking(&rig.pool, Duration::from_millis(100)).await.unwrap();
    let refused = DB::number(other.tx().unwrap(), &ForUpdate::Wait.of::<DB>(FIRST).0).await.unwrap_err();
    assert_eq!(refused.conflict(), Some(Conflict::NotGranted), "{refused}");
    // The transaction that was refused can still be ended in order.
    other.rollback().await.unwrap_or_default();
    holder.commit().await.unwrap();
}

// shows: KC1
async fn locking_in_different_orders_is_a_deadlock_error<DB: Sql>(rig: Rig<DB>) {
    let mut one = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    let mut two = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    let lock = |id: u8| format!("SELECT units FROM stock WHERE id = {id} FOR UPDATE");
    DB::number(one.tx().unwrap(), &lock(1)).await.unwrap();
    DB::number(two.tx().unwrap(), &lock(2)).await.unwrap();
    let (first, second) = (lock(2), lock(1));
    // The transaction that is ended must release its locks before the other one can continue.
    let one = async {
        let answer = DB::number(one.tx().unwrap(), &first).await;
        drop(one);
        answer
    };
    let two = async {
        let answer = DB::number(two.tx().unwrap(), &second).await;
        drop(two);
        answer
    };
    let (one, two) = tokio::join!(one, two);
    let conflicts: Vec<Conflict> = [one, two].iter().filter_map(|answer| answer.as_ref().err()?.conflict()).collect();
    assert_eq!(conflicts, [Conflict::Deadlock]);
}

/// A limit that remained on its connection would apply to the next user of the connection.
// shows: KC1, hazard L16, sql::Keel::begin_locking, sql::LockingTransaction::tx, sql::LockingTransaction::commit
// shows: sql::LockingTransaction::rollback
#[tokio::test]
async fn lock_timeout_ends_with_its_transaction() {
    const LIMIT: &str = "SELECT CAST(@@SESSION.innodb_lock_wait_timeout AS SIGNED)";
    let rig = Rig::<MySql>::open().await;
    let pool = crate::sql::rig::pool::<MySql>(&rig.database.url, 1).await;
    let limit = async || <MySql as Sql>::number(&mut *pool.acquire().await.unwrap(), LIMIT).await.unwrap();
    let default = limit().await;
    for is_committed in [true, false] {
        let mut work = rig.keel.begin_locking(&pool, Duration::from_millis(1_500)).await.unwrap();
        assert_eq!(<MySql as Sql>::number(work.tx().unwrap(), LIMIT).await.unwrap(), Some(2), "rounded up");
        if is_committed {
            work.commit().await.unwrap();
            assert_eq!(limit().await, default);
        } else {
            drop(work);
            eventually("the limit is put back", async || (limit().await == default).then_some(())).await.unwrap();
        }
    }
}

/// PostgreSQL ends it by itself.
#[tokio::test]
async fn lock_timeout_ends_with_its_transaction_on_postgres() {
    const LIMIT: &str = "SELECT setting::bigint FROM pg_settings WHERE name = 'lock_timeout'";
    let rig = Rig::<Postgres>::open().await;
    let pool = crate::sql::rig::pool::<Postgres>(&rig.database.url, 1).await;
    let mut work = rig.keel.begin_locking(&pool, Duration::from_millis(1_500)).await.unwrap();
    assert_eq!(<Postgres as Sql>::number(work.tx().unwrap(), LIMIT).await.unwrap(), Some(1_500));
    drop(work);
    assert_eq!(<Postgres as Sql>::number(&mut *pool.acquire().await.unwrap(), LIMIT).await.unwrap(), Some(0));
}

/// SQLite has one writer: the second one waits for the file, for the configured time.
// shows: KC1, sql::Keel::begin_locking, sql::LockingTransaction::tx, sql::LockingTransaction::commit
// shows: sql::LockingTransaction::rollback
#[tokio::test]
async fn sqlite_file_lock_is_awaited_as_configured() {
    let rig = Rig::<Sqlite>::open().await;
    let mut holder = rig.keel.begin_locking(&rig.pool, None).await.unwrap();
    assert_eq!(ForUpdate::NoWait.of::<Sqlite>(FIRST).0, FIRST, "there is nothing to add");
    <Sqlite as Sql>::run(holder.tx().unwrap(), "UPDATE stock SET units = 9 WHERE id = 1").await.unwrap();
    let refused = rig.keel.begin_locking(&rig.pool, Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(refused.conflict(), Some(Conflict::NotGranted), "{refused}");
    holder.commit().await.unwrap();
    rig.keel.begin_locking(&rig.pool, Duration::from_secs(10)).await.unwrap().commit().await.unwrap();
    assert_eq!(rig.units().await, 9);
}
