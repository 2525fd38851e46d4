//! A backend of the process reports, and its clock.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::Result;
use evenkeel::testing::TestClock;
use evenkeel_protocol::process::memory::MemoryProcesses;
use evenkeel_protocol::process::redis::RedisProcesses;
use evenkeel_protocol::process::steps::{ProcessSteps, Processes};

/// One backend under test.
pub struct Rig<P> {
    /// The steps.
    pub processes: P,
    /// The server's clock.
    pub time: ServerTime,
    _redis: Option<SharedRedis>,
}

impl Rig<MemoryProcesses> {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let processes = MemoryProcesses::new(clock.clock());
        Ok(Self { processes, time: ServerTime::Model(clock), _redis: None })
    }
}

impl Rig<RedisProcesses> {
    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let (link, redis) = shared_link().await?;
        let time = ServerTime::of_scripts(&link, link.prefix()).await?;
        Ok(Self { processes: RedisProcesses::new(link), time, _redis: Some(redis) })
    }
}

impl<P: ProcessSteps> Rig<P> {
    /// Reports a process with this id.
    pub async fn report(&self, id: &str, pid: u32) -> Result<()> {
        assert!(self.processes.report(id, &format!(r#"{{"pid": {pid}}}"#)).await?);
        Ok(())
    }

    /// The processes that are listed.
    pub async fn list(&self) -> Result<Processes> {
        Ok(self.processes.processes().await?)
    }

    /// The ids of the processes that are listed.
    pub async fn ids(&self) -> Result<Vec<String>> {
        Ok(self.list().await?.processes.into_iter().map(|process| process.id).collect())
    }
}
