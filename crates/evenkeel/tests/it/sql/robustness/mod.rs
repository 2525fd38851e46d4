//! Random misuse of SQL: units of work, relays, the inbox, operators and locks with arguments and settings at their extremes in any
//! combination, and messages of any size next to small ones; on a database that is drawn.

mod calls;
mod units;

use super::large::{MIB, large_and_small};
use super::rig::{Rig, Sql};
use crate::lock::sql_extremes::NAMES;
use crate::rig::Fleet;
use crate::robustness::Round;
use evenkeel::sql::SqlError;
use sqlx::{MySql, Postgres, Sqlite};
use units::Shop;

/// Calls of each kind of a round.
const STEPS: u64 = 8;

/// Texts of any size and kind. Half of them are short and plain.
fn text(round: &mut Round) -> String {
    match round.number(0, 5) {
        0..=2 => (*round.one(&["a", "b", "c"])).to_owned(),
        3 => (*round.one(&NAMES)).to_owned(),
        4 => (*round.one(&["\0", "a\0b", "{}", "a b\r\n", "*", "\u{1f980}"])).to_owned(),
        _ => "x".repeat(*round.one(&super::extremes::SIZES)),
    }
}

/// A text in a few words, for the record.
fn shown(text: &str) -> String {
    if text.len() > 20 { format!("{} bytes", text.len()) } else { format!("{text:?}") }
}

/// Whether it fits into the columns of names.
fn is_name(text: &str) -> bool {
    (1..=255).contains(&text.len()) && !text.contains('\0')
}

fn never(_: &SqlError) -> bool {
    false
}

pub(crate) async fn extremes(mut round: Round) {
    match round.number(0, 2) {
        0 => Box::pin(extremes_on::<Sqlite>(round)).await,
        1 => Box::pin(extremes_on::<MySql>(round)).await,
        _ => Box::pin(extremes_on::<Postgres>(round)).await,
    }
}

async fn extremes_on<DB: Sql>(mut round: Round) {
    round.step(format!("on {}", DB::NAME));
    let fleet = if round.is_on_redis() { Fleet::redis().await } else { Fleet::memory() };
    let keel = match round.is_on_redis() {
        // A busy machine may take its time.
        true => fleet.process_through(|url| format!("{url}?response_timeout_ms=15000")).await,
        false => fleet.process().await,
    };
    let rig = Rig::<DB>::with(keel).await;
    let mut shop = Shop::open(&rig).await;
    for _ in 0..2 {
        for _ in 0..STEPS {
            shop.unit(&mut round).await;
        }
        shop.drain(&mut round).await;
        shop.consume(&round).await;
    }
    Box::pin(calls::inbox(&mut round, &rig)).await;
    Box::pin(calls::operators(&mut round, &rig)).await;
    Box::pin(calls::row_locks(&mut round, &rig)).await;
    Box::pin(calls::waits(&mut round, &rig)).await;
}

/// Messages and jobs of up to 20 MiB next to small units of work.
pub(crate) async fn sizes(mut round: Round) {
    match round.number(0, 2) {
        0 => Box::pin(sizes_on::<Sqlite>(round)).await,
        1 => Box::pin(sizes_on::<MySql>(round)).await,
        _ => Box::pin(sizes_on::<Postgres>(round)).await,
    }
}

async fn sizes_on<DB: Sql>(mut round: Round) {
    // One that only some databases accept, and others of any size.
    let mut sizes = vec![usize::try_from(round.number(14 << 20, 20 << 20)).unwrap()];
    for _ in 0..round.number(2, 6) {
        let bits = round.number(0, 22);
        sizes.push(usize::try_from(round.number(0, 1 << bits)).unwrap());
    }
    round.misbehaves(format!("{sizes:?} on {}", DB::NAME));
    let rig = Rig::<DB>::open().await;
    let counts = large_and_small(&rig, &sizes).await;
    assert!(sizes.iter().filter(|size| **size < 14 * MIB).count() * 3 <= counts.taken, "{counts:?}");
    round.checked((counts.taken + counts.refused + counts.small) as u64);
}
