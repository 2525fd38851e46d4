//! [`ClickDelta`]: folds clicks into counters per link and day, each entry of the stream once.

use super::database::{Dialect, Pools};
use super::{Connection, Store, StoreError, Writer, with_database};
use crate::domain::{ClickCounts, ClickHistory, ClickStats, Code, DAYS_MAX, DayNumber, days_until};
use evenkeel::sql::Once;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use web::sql::Statement;
use web::{guard, signed};

/// The name under which the inbox records folded entries.
const GROUP: &str = "link-clicks";

/// How long the inbox stores the name of a folded entry. An entry that was folded is delivered again only if its process died before it
/// settled the entry; some instance then gets it within the lease, unless none runs.
const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// Counters of one statement.
const STATEMENT_MAX: usize = 128;

/// Links whose counters are read at a time, which bounds the memory: each may have one for every day of its life.
const LINKS_AT_ONCE: usize = 100;

/// What an entry adds to the counters of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickDelta {
    /// The name of the entry, equal in all its copies and deliveries; at most 255 bytes.
    pub entry: String,
    /// The clicks by link and day. A link may be there twice.
    pub clicks: Vec<(Code, DayNumber, ClickCounts)>,
}

pub(super) type Counters = BTreeMap<(Code, DayNumber), ClickCounts>;

impl Store {
    /// The clicks of a link on the last `days` days, and since it exists. Zero if it has none, or there is no link.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn clicks(&self, code: &Code, days: u32) -> Result<ClickStats, StoreError> {
        let now = self.now();
        let first = days_until(now, days).next().unwrap_or(DayNumber(0));
        let (total, counted) = with_database!(self, pools => pools.clicks(code, first).await)?;
        Ok(ClickStats::filled(total, &counted, now, days))
    }
}

impl Store {
    /// The counters of links for an export; a link without clicks is not in it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn click_histories(&self, codes: &[Code]) -> Result<HashMap<Code, ClickHistory>, StoreError> {
        let first = days_until(self.now(), DAYS_MAX).next().unwrap_or(DayNumber(0));
        let mut histories = HashMap::new();
        for codes in codes.chunks(LINKS_AT_ONCE) {
            with_database!(self, pools => pools.add_histories(codes, first, &mut histories).await)?;
        }
        Ok(histories)
    }
}

impl Writer {
    /// Adds entries to the counters, in one transaction. An entry that an earlier call has added is skipped. Returns the clicks that were
    /// added.
    ///
    /// # Errors
    /// [`StoreError::OutcomeUnknown`]: the entries may have been added; a repeated call does not add them twice. Otherwise none was.
    pub async fn fold_clicks(&self, deltas: &[ClickDelta]) -> Result<u64, StoreError> {
        with_database!(self, pools => self.retry(|| self.fold_clicks_in(pools, deltas)).await)
    }

    /// Removes old names of folded entries until `shutdown`. Any number of instances may run it at once.
    pub async fn run_click_retention(&self, shutdown: impl Future<Output = ()> + Send) {
        with_database!(self, pools => self.keel.inbox(&pools.writers).retention(RETENTION).run(shutdown).await);
    }

    async fn fold_clicks_in<DB: Dialect>(&self, pools: &Pools<DB>, deltas: &[ClickDelta]) -> Result<u64, StoreError> {
        let inbox = self.keel.inbox(&pools.writers).retention(RETENTION);
        let mut work = self.begin(pools).await?;
        let mut counters = Counters::new();
        let mut added = 0;
        // In one order: two instances with the same entries wait for each other and do not deadlock.
        let mut deltas: Vec<&ClickDelta> = deltas.iter().collect();
        deltas.sort_unstable_by(|one, other| one.entry.cmp(&other.entry));
        for delta in deltas {
            let is_new = inbox.once(work.tx(), GROUP, delta.entry.as_str()).await? == Once::Fresh;
            if is_new || !guard("clicks_added_once") {
                for (code, day, counts) in &delta.clicks {
                    *counters.entry((code.clone(), *day)).or_default() += *counts;
                    added += counts.all();
                }
            }
        }
        add_all::<DB>(work.tx(), &counters).await?;
        work.commit().await?;
        Ok(added)
    }
}

/// Adds to counters, which are inserted if they do not exist.
pub(super) async fn add_all<DB: Dialect>(
    connection: &mut DB::Connection,
    counters: &Counters,
) -> Result<(), StoreError> {
    let counters: Vec<_> = counters.iter().map(|(key, counts)| (key.clone(), *counts)).collect();
    for counters in counters.chunks(STATEMENT_MAX) {
        add::<DB>(connection, counters).await?;
    }
    Ok(())
}

async fn add<DB: Dialect>(
    connection: &mut DB::Connection,
    counters: &[((Code, DayNumber), ClickCounts)],
) -> Result<(), StoreError> {
    let mut insert = Statement::new("INSERT INTO link_clicks (code, day, people, bots) VALUES ");
    for (index, ((code, day), counts)) in counters.iter().enumerate() {
        insert = insert.text(if index > 0 { ", (" } else { "(" }).bind(code.as_str()).text(", ").bind(day.0);
        insert = insert.text(", ").bind(signed(counts.people)).text(", ").bind(signed(counts.bots)).text(")");
    }
    DB::execute_statement(connection, insert.text(DB::ADD_CLICKS)).await?;
    Ok(())
}

impl<DB: Dialect> Pools<DB> {
    async fn clicks(
        &self,
        code: &Code,
        first: DayNumber,
    ) -> Result<(ClickCounts, Vec<(DayNumber, ClickCounts)>), StoreError> {
        let select = Statement::new("SELECT day, people, bots FROM link_clicks WHERE code = ").bind(code.as_str());
        let rows = DB::fetch_rows(&mut *self.reader().await?, select.text(" ORDER BY day")).await?;
        let (mut total, mut counted) = (ClickCounts::default(), Vec::new());
        for row in &rows {
            let day = DayNumber(DB::int_at(row, 0)?);
            let counts = ClickCounts { people: count(DB::int_at(row, 1)?), bots: count(DB::int_at(row, 2)?) };
            total += counts;
            if day >= first {
                counted.push((day, counts));
            }
        }
        Ok((total, counted))
    }
}

impl<DB: Dialect> Pools<DB> {
    async fn add_histories(
        &self,
        codes: &[Code],
        first: DayNumber,
        histories: &mut HashMap<Code, ClickHistory>,
    ) -> Result<(), StoreError> {
        let select = Statement::new("SELECT code, day, people, bots FROM link_clicks WHERE code IN ");
        let select = select.list(codes.iter().map(Code::as_str));
        for row in &DB::fetch_rows(&mut *self.reader().await?, select).await? {
            let code = Code::parse(&DB::text_at(row, 0)?).map_err(|why| StoreError::Corrupt(why.to_string()))?;
            let counts = ClickCounts { people: count(DB::int_at(row, 2)?), bots: count(DB::int_at(row, 3)?) };
            histories.entry(code).or_default().add(DayNumber(DB::int_at(row, 1)?), first, counts);
        }
        Ok(())
    }
}

fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}
