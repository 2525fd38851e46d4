//! The relay on each database: the same stories three times.
#![expect(clippy::duplicate_mod, reason = "each database has its own copy of the stories, with its own types")]

mod hostile;
mod mariadb;
mod postgres;
mod recorder;
mod sqlite;

use crate::robustness::Round;

/// The random rounds with hostile code, on one of the databases.
pub(crate) async fn hostile(mut round: Round) {
    match round.number(0, 2) {
        0 => Box::pin(sqlite::robustness::hostile(round)).await,
        1 => Box::pin(mariadb::robustness::hostile(round)).await,
        _ => Box::pin(postgres::robustness::hostile(round)).await,
    }
}
