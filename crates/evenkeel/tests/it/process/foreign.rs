//! Another program has put a value of another type under a key of the process reports.

use crate::foreign::Neighbor;
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel_protocol::process::steps::{PROCESSES_MAX, Processes, ReadProcesses, Report};
use evenkeel_protocol::process::{Namespace, ProcessBackend};
use testkit::park::{SharedRedis, redis};

/// The processes of one prefix.
struct Known(ProcessBackend, Namespace);

impl Known {
    async fn report(&self, id: &str, text: &str) -> Result<bool> {
        let report = Report { id: id.to_owned(), text: text.to_owned() };
        Ok(self.0.run(&self.1, &report).await?)
    }

    async fn processes(&self) -> Result<Processes> {
        Ok(self.0.run(&self.1, &ReadProcesses).await?)
    }
}

async fn opened() -> Result<(SharedRedis, Link, Known, String)> {
    let redis = redis().await?;
    let mut options = LinkOptions::from_url(&redis.url)?;
    options.prefix.clone_from(&redis.prefix);
    let link = Link::connect(options, Clock::system()).await?;
    let namespace = Namespace::new(&redis.prefix);
    let times = namespace.times().to_owned();
    Ok((redis, link.clone(), Known(ProcessBackend::redis(link), namespace), times))
}

// shows: P4
#[tokio::test]
async fn value_in_place_of_the_list_stops_reports_only() -> Result<()> {
    let (_redis, link, processes, times) = opened().await?;
    let neighbor = Neighbor::new(&link, &times);
    assert!(processes.report("a.1.x", "{}").await?);
    for kind in Neighbor::types() {
        if !neighbor.occupy(times.as_bytes(), "ZADD", kind).await? {
            continue;
        }
        let before = neighbor.all().await?;
        assert!(!processes.report("b.2.x", "{}").await?);
        assert_eq!(neighbor.all().await?, before, "nothing was written");
        let found = processes.processes().await?;
        assert_eq!((found.processes.len(), found.ignored), (0, 1));
        neighbor.give_back(times.as_bytes()).await?;
    }
    assert!(processes.report("b.2.x", "{}").await?);
    assert_eq!(processes.processes().await?.processes.len(), 2);
    Ok(())
}

// shows: P4
#[tokio::test]
async fn value_in_place_of_a_report_is_ignored() -> Result<()> {
    let (_redis, link, processes, times) = opened().await?;
    let neighbor = Neighbor::new(&link, &times);
    let key = format!("{times}:a.1.x");
    for id in ["a.1.x", "b.2.x"] {
        assert!(processes.report(id, "{}").await?);
    }
    for kind in Neighbor::types() {
        assert!(neighbor.occupy(key.as_bytes(), "", kind).await?);
        let found = processes.processes().await?;
        assert_eq!((found.processes.len(), found.ignored), (1, 1));
        neighbor.give_back(key.as_bytes()).await?;
    }
    neighbor.occupy(key.as_bytes(), "", 1).await?;
    assert!(processes.report("a.1.x", "{}").await?, "the next report replaces it");
    assert_eq!(processes.processes().await?.processes.len(), 2);
    Ok(())
}

/// Names with times far ahead do not push out the processes that live.
// shows: P4
#[tokio::test]
async fn names_of_other_programs_do_not_displace_processes() -> Result<()> {
    let (_redis, link, processes, times) = opened().await?;
    assert!(processes.report("a.1.x", "{}").await?);
    let mut add = redis::cmd("ZADD");
    add.arg(&times);
    for at in 0..PROCESSES_MAX * 2 {
        add.arg("1e300").arg(format!("ahead.{at}"));
        add.arg("-inf").arg(format!("long.ago.{at}"));
    }
    link.command(times.as_bytes(), &add).await?;
    let found = processes.processes().await?;
    assert_eq!((found.processes.len(), found.further, found.ignored), (1, 0, 0));
    for _ in 0..PROCESSES_MAX * 2 / 100 {
        assert!(processes.report("a.1.x", "{}").await?);
    }
    let left = link.command(times.as_bytes(), redis::cmd("ZCARD").arg(&times)).await?;
    assert_eq!(left, redis::Value::Int(1), "each report forgets a hundred of each");
    assert_eq!(processes.processes().await?.processes.len(), 1);
    Ok(())
}
