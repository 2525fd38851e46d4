//! The memory and the persistence of a Redis, judged by what uses it: caches may be evicted and refill, all else may not be lost.

use super::redis::{Info, ask};
use super::report::Server;
use crate::prefixes::{STREAMS, TOPICS};
use ::redis::cmd;
use evenkeel::link::Link;
use evenkeel_protocol::process::steps::ReadProcesses;
use evenkeel_protocol::process::{Namespace, ProcessBackend};

/// The registers of topics and streams of every prefix, among other keys.
const REGISTERS: &str = "*:[qs]:[ts][ot]*";
/// `SCAN` calls, and the keys that each visits: a large server is searched in part.
const PAGES_MAX: usize = 100;
const PAGE: u32 = 1_000;

/// What programs keep on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    caches: bool,
    queues: bool,
    streams: bool,
    locks: bool,
}

impl Uses {
    /// Reads the registers, and the reports of the processes under the link's prefix. What this user may not read counts as unused.
    pub(super) async fn read(link: &Link) -> Self {
        let mut uses = Self::default();
        let reports = ProcessBackend::redis(link.clone());
        let reports = reports.run(&Namespace::new(link.prefix()), &ReadProcesses).await.unwrap_or_default();
        for report in reports.processes.iter().filter_map(|process| process.report.as_ref()) {
            uses.caches |= !report.caches.is_empty();
            uses.queues |= !report.consumers.is_empty();
            uses.streams |= !report.stream_consumers.is_empty();
            uses.locks |= !report.locks.is_empty();
        }
        let prefix = link.prefix();
        let own = [TOPICS, STREAMS].map(|register| format!("{prefix}{register}"));
        for key in &own {
            let count: Result<u64, _> = ask(link, cmd("EXISTS").arg(key)).await;
            uses.add(key, count.is_ok_and(|count| count > 0));
        }
        let mut cursor = "0".to_owned();
        for _ in 0..PAGES_MAX {
            let scan = cmd("SCAN").arg(&cursor).arg("MATCH").arg(REGISTERS).arg("COUNT").arg(PAGE).to_owned();
            let Ok((next, keys)) = ask::<(String, Vec<Vec<u8>>)>(link, &scan).await else { break };
            keys.iter().for_each(|key| uses.add(&String::from_utf8_lossy(key), true));
            if next == "0" {
                break;
            }
            cursor = next;
        }
        uses
    }

    fn add(&mut self, key: &str, is_there: bool) {
        self.queues |= is_there && key.ends_with(TOPICS);
        self.streams |= is_there && key.ends_with(STREAMS);
    }

    /// What an eviction or a restart loses.
    fn kept(self) -> Vec<&'static str> {
        let all = [(self.queues, "queues"), (self.streams, "streams"), (self.locks, "locks")];
        all.into_iter().filter_map(|(is_used, name)| is_used.then_some(name)).collect()
    }

    /// ` (used by ..)`; empty if nothing is known.
    fn noted(self) -> String {
        let mut names = self.kept();
        names.extend(self.caches.then_some("caches"));
        if names.is_empty() { String::new() } else { format!(" (used by {})", names.join(", ")) }
    }
}

/// Checks `maxmemory` and its policy.
pub(super) fn memory(server: &mut Server, info: &Info, uses: Uses) {
    let field = |name: &str| info.get(name).map_or("", String::as_str);
    let (policy, is_unlimited) = (field("maxmemory_policy"), field("maxmemory") == "0");
    let limit = if is_unlimited { "no limit".to_owned() } else { format!("limit {}", field("maxmemory_human")) };
    let found = format!("{limit}, {policy}{}", uses.noted());
    let (keeps, evicts) = (!uses.kept().is_empty(), policy != "noeviction");
    if evicts && keeps {
        let remedy = "set maxmemory-policy noeviction: this policy evicts jobs, entries and held locks, and queues refuse to open; \
                      give caches a server of their own with volatile-lfu";
        return server.fail("memory", found, remedy);
    }
    if policy.starts_with("allkeys") {
        let remedy = "set maxmemory-policy volatile-lfu if only caches use this server, and noeviction if queues, streams or locks \
                      do: this policy evicts their keys";
        return server.warn("memory", found, remedy);
    }
    if is_unlimited {
        let policy = match (keeps, uses.caches) {
            (true, _) => "noeviction",
            (false, true) => "volatile-lfu",
            (false, false) => "volatile-lfu for caches, noeviction for queues, streams and locks",
        };
        let remedy =
            format!("set maxmemory, with maxmemory-policy {policy}: otherwise Redis may use all memory of its host");
        return server.warn("memory", found, remedy);
    }
    match (evicts, uses.caches, keeps) {
        (false, true, true) => server.warn(
            "memory",
            found,
            "give caches a server of their own with maxmemory-policy volatile-lfu: here writes, invalidations included, fail when \
             memory is full",
        ),
        (false, true, false) => server.warn(
            "memory",
            found,
            "set maxmemory-policy volatile-lfu: otherwise writes, invalidations included, fail when memory is full",
        ),
        (true, ..) => server.ok("memory", format!("{found}: for caches; queues, streams and locks need noeviction")),
        (false, false, _) => server.ok("memory", found),
    }
}

/// Checks what a restart does to the data. `save` is the setting of that name, if this user may read it.
pub(super) fn persistence(server: &mut Server, info: &Info, save: Option<&str>, uses: Uses) {
    let field = |name: &str| info.get(name).map_or("", String::as_str);
    let broken = ["rdb_last_bgsave_status", "aof_last_write_status"].into_iter().find(|name| field(name) == "err");
    if let Some(name) = broken {
        let remedy = "check the server's log and disk: until this is fixed, Redis rejects writes";
        return server.fail("persistence", format!("{name} is err"), remedy);
    }
    if field("aof_enabled") == "1" {
        return server.ok("persistence", "append-only file");
    }
    let has_snapshots = save.map_or(field("rdb_saves").parse().unwrap_or(0) > 0, |save| !save.is_empty());
    let keeps = !uses.kept().is_empty();
    if has_snapshots {
        let old = "a restart brings old values back: cached ones whose invalidation is older than `replay_window` (60 s) are served until \
                   their TTL";
        let remedy = if keeps {
            format!("set appendonly yes: {old}, and the jobs, entries and locks since the last snapshot are lost")
        } else {
            format!("set appendonly yes, or save \"\" if only caches use this server: {old}")
        };
        let found = save.map_or_else(|| "snapshots only".to_owned(), |save| format!("snapshots only (save {save})"));
        return server.warn("persistence", found, remedy);
    }
    let found = "no append-only file (a restart loses all data; caches refill)";
    server.advise(!keeps, "persistence", found, "set appendonly yes: a restart loses all jobs, entries and locks");
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;
    use crate::address::Address;

    const NOTHING: Uses = Uses { caches: false, queues: false, streams: false, locks: false };
    const CACHES: Uses = Uses { caches: true, ..NOTHING };
    const LOCKS: Uses = Uses { locks: true, ..NOTHING };
    const ALL: Uses = Uses { caches: true, queues: true, streams: true, locks: true };

    fn check(fields: &[(&str, &str)], run: impl Fn(&mut Server, &Info)) -> (Verdict, String) {
        let address = Address::read(1, "redis://host").unwrap_or_else(|error| unreachable!("{error}"));
        let mut server = Server::new(&address);
        run(&mut server, &fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
        let check = server.checks.remove(0);
        (check.verdict, check.remedy.unwrap_or_default())
    }

    /// Operators who followed the one advice for all, `volatile-lfu`, had queues that did not open and locks that were evicted.
    // shows: hazard PO1
    #[test]
    fn advice_about_eviction_follows_what_uses_the_server() {
        for (bytes, policy, uses, verdict, remedy) in [
            ("1", "allkeys-lru", NOTHING, Verdict::Warn, "noeviction if queues"),
            ("1", "allkeys-lru", ALL, Verdict::Fail, "set maxmemory-policy noeviction"),
            ("1", "volatile-lfu", LOCKS, Verdict::Fail, "set maxmemory-policy noeviction"),
            ("0", "volatile-lfu", LOCKS, Verdict::Fail, "set maxmemory-policy noeviction"),
            ("1", "volatile-lfu", CACHES, Verdict::Ok, ""),
            ("1", "noeviction", LOCKS, Verdict::Ok, ""),
            ("1", "noeviction", CACHES, Verdict::Warn, "set maxmemory-policy volatile-lfu"),
            ("1", "noeviction", ALL, Verdict::Warn, "give caches a server of their own"),
            ("0", "noeviction", ALL, Verdict::Warn, "maxmemory-policy noeviction:"),
            ("0", "noeviction", CACHES, Verdict::Warn, "maxmemory-policy volatile-lfu:"),
            ("0", "noeviction", NOTHING, Verdict::Warn, "volatile-lfu for caches"),
        ] {
            let fields = [("maxmemory", bytes), ("maxmemory_human", "1B"), ("maxmemory_policy", policy)];
            let found = check(&fields, |server, info| memory(server, info, uses));
            assert_eq!((found.0, found.1.contains(remedy)), (verdict, true), "{policy} {uses:?}: {}", found.1);
        }
    }

    // shows: hazard PO2
    #[test]
    fn restart_from_a_snapshot_is_a_warning() {
        let of = |aof, saves, save, uses| {
            check(&[("aof_enabled", aof), ("rdb_saves", saves)], |server, info| persistence(server, info, save, uses))
        };
        assert_eq!(of("1", "3", Some("60 1"), ALL).0, Verdict::Ok);
        assert_eq!(of("0", "0", Some(""), CACHES).0, Verdict::Ok);
        assert_eq!(of("0", "0", Some(""), ALL).0, Verdict::Warn);
        for (saves, save) in [("0", Some("3600 1 60 10000")), ("2", None)] {
            let (verdict, remedy) = of("0", saves, save, CACHES);
            assert!(
                verdict == Verdict::Warn && remedy.contains("replay_window") && remedy.contains("save \"\""),
                "{remedy}"
            );
        }
    }
}
