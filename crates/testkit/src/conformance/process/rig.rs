//! A backend of the process reports, and its clock.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::Result;
use evenkeel::testing::TestClock;
use evenkeel_protocol::process::steps::{Leave, Processes, ReadProcesses, Report};
use evenkeel_protocol::process::{Namespace, ProcessBackend};

/// One backend under test.
pub struct Rig {
    processes: ProcessBackend,
    namespace: Namespace,
    /// The server's clock.
    pub time: ServerTime,
    _redis: Option<SharedRedis>,
}

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let (processes, namespace) = (ProcessBackend::memory(clock.clock()), Namespace::new("t"));
        Ok(Self { processes, namespace, time: ServerTime::Model(clock), _redis: None })
    }

    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let (link, redis) = shared_link().await?;
        let time = ServerTime::of_scripts(&link, link.prefix()).await?;
        let namespace = Namespace::new(link.prefix());
        Ok(Self { processes: ProcessBackend::redis(link), namespace, time, _redis: Some(redis) })
    }

    /// Reports a process with this id.
    pub async fn report(&self, id: &str, pid: u32) -> Result<()> {
        assert!(self.store(id, &format!(r#"{{"pid": {pid}}}"#)).await?);
        Ok(())
    }

    /// Stores this text as the report of a process.
    pub async fn store(&self, id: &str, text: &str) -> Result<bool> {
        let report = Report { id: id.to_owned(), text: text.to_owned() };
        Ok(self.processes.run(&self.namespace, &report).await?)
    }

    /// Removes a process.
    pub async fn leave(&self, id: &str) -> Result<()> {
        Ok(self.processes.run(&self.namespace, &Leave { id: id.to_owned() }).await?)
    }

    /// The processes that are listed.
    pub async fn list(&self) -> Result<Processes> {
        Ok(self.processes.run(&self.namespace, &ReadProcesses).await?)
    }

    /// The ids of the processes that are listed.
    pub async fn ids(&self) -> Result<Vec<String>> {
        Ok(self.list().await?.processes.into_iter().map(|process| process.id).collect())
    }
}
