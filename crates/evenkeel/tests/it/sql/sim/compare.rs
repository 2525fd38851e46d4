//! The whole comparison: SQL's rows, and the actual effects.

use super::super::rig::Sql;
use super::copies::{Arrival, Copies};
use super::driver::Run;
use super::held::{self, Sent};
use super::servers::Servers;
use evenkeel::queue::JobId;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What was compared and counted.
#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    /// Transactions in SQL, and those of them whose row is not done.
    pub(super) committed: u64,
    works_not_done: u64,
    parked: u64,
    /// Accounts, entries that a cache had, and those that differ from SQL.
    accounts: u64,
    pub(super) entries_held: u64,
    pub(super) stale: u64,
    /// Jobs that should wait, named jobs that should not, and those of both kinds that differ; jobs that no transaction
    /// sent.
    pub(super) jobs: u64,
    pub(super) revoked: u64,
    pub(super) jobs_wrong: u64,
    jobs_strange: u64,
    /// Keys of ordered messages, those that missed one or had them out of order, and all such messages.
    pub(super) ordering_keys: u64,
    pub(super) ordering_keys_wrong: u64,
    pub(super) ordered: u64,
    ordered_copies: u64,
    pub(super) loose: u64,
    pub(super) loose_lost: u64,
    pub(super) loose_strange: u64,
    copies: Copies,
    kills: usize,
    redis_restarts: u64,
    broker_restarts: u64,
    rolled_back: u64,
    refused: u64,
    failed: u64,
    unknown: u64,
    at_once: u64,
    seconds: f64,
    #[serde(skip)]
    sent: BTreeMap<i64, Vec<Arrival>>,
}

impl Findings {
    pub(super) async fn of<DB: Sql>(servers: &Servers<DB>) -> Self {
        let shop = servers.shop().await;
        let mut findings = Self {
            committed: servers.number("SELECT COUNT(*) FROM ledger").await,
            works_not_done: servers.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE state <> 3").await,
            parked: servers.number("SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL").await,
            ..Self::default()
        };
        let done = servers.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE state = 2").await;
        // Each transaction of the ledger is a completed unit of work, and there are no others.
        findings.works_not_done = findings.works_not_done.abs_diff(done) + done.abs_diff(findings.committed);
        findings.compare_entries(
            &servers.pairs("SELECT name, units FROM accounts").await,
            &held::entries(servers, &shop).await,
        );
        let named = servers.pairs("SELECT name, COALESCE(body, -1) FROM jobs").await;
        let nameless = servers.pairs("SELECT id, body FROM nameless").await;
        findings.compare_jobs(&named, &nameless, &held::jobs(&shop).await);
        let said = servers.pairs("SELECT ordering_key, number FROM said ORDER BY ordering_key, place").await;
        let loose = servers.pairs("SELECT topic, number FROM loose").await;
        findings.compare_messages(&said, &loose, held::messages(servers, &shop).await);
        findings
    }

    /// What is not as it was promised.
    pub(super) fn wrong(&self) -> u64 {
        self.works_not_done
            + self.parked
            + self.stale
            + self.jobs_wrong
            + self.jobs_strange
            + self.ordering_keys_wrong
            + self.loose_lost
            + self.loose_strange
            + self.copies.unexplained
    }

    /// Explains the copies by what happened, and counts that.
    pub(super) fn add(&mut self, run: &Run) {
        self.copies = Copies::explain(&self.sent, run);
        self.kills = run.killed.len();
        (self.redis_restarts, self.broker_restarts) = (run.redis_restarts, run.broker_restarts);
        (self.rolled_back, self.refused) = (run.report.rolled_back, run.report.refused);
        (self.failed, self.unknown, self.at_once) = (run.report.failed, run.report.unknown, run.report.at_once);
        self.seconds = run.seconds;
    }

    fn compare_entries(&mut self, accounts: &[(String, i64)], held: &HashMap<String, i64>) {
        self.accounts = accounts.len() as u64;
        self.entries_held = held.len() as u64;
        let is_stale = |(name, units): &&(String, i64)| held.get(name).is_some_and(|held| held != units);
        self.stale = accounts.iter().filter(is_stale).count() as u64;
    }

    fn compare_jobs(&mut self, named: &[(String, i64)], nameless: &[(String, i64)], held: &HashMap<JobId, i64>) {
        let mut expected: HashMap<JobId, i64> = HashMap::new();
        for (name, body) in named {
            if *body >= 0 {
                expected.insert(JobId::named(name.as_bytes()), *body);
            } else {
                self.revoked += 1;
                self.jobs_wrong += u64::from(held.contains_key(&JobId::named(name.as_bytes())));
            }
        }
        expected.extend(nameless.iter().map(|(id, body)| (id.parse::<JobId>().unwrap(), *body)));
        self.jobs = expected.len() as u64;
        self.jobs_wrong += expected.iter().filter(|(id, body)| held.get(*id) != Some(body)).count() as u64;
        let names: HashSet<JobId> = named.iter().map(|(name, _)| JobId::named(name.as_bytes())).collect();
        let strange = held.keys().filter(|id| !expected.contains_key(*id) && !names.contains(*id));
        self.jobs_strange = strange.count() as u64;
    }

    fn compare_messages(&mut self, said: &[(String, i64)], loose: &[(String, i64)], sent: Sent) {
        let mut ordering_keys: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (ordering_key, number) in said {
            ordering_keys.entry(ordering_key).or_default().push(*number);
        }
        self.ordering_keys = ordering_keys.len() as u64;
        self.ordered = said.len() as u64;
        self.ordering_keys_wrong = ordering_keys
            .iter()
            .filter(|(ordering_key, expected)| sent.ordering_keys.get(**ordering_key) != Some(expected))
            .count() as u64;
        self.ordering_keys_wrong +=
            sent.ordering_keys.keys().filter(|ordering_key| !ordering_keys.contains_key(ordering_key.as_str())).count()
                as u64;
        self.ordered_copies = sent.ordered_copies;
        let expected: HashSet<i64> = loose.iter().map(|(_, number)| *number).collect();
        self.loose = expected.len() as u64;
        self.loose_lost = expected.iter().filter(|number| !sent.loose.contains_key(number)).count() as u64;
        self.loose_strange = sent.loose.keys().filter(|number| !expected.contains(number)).count() as u64;
        self.sent = sent.loose;
    }
}
