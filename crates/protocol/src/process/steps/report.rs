//! [`Report`] and [`Leave`]: what a process says of itself.

use super::{PROCESSES_MAX, REPORT_TTL_MS, SEEN_TTL_MS};
use crate::process::backend::{Namespace, REPORT, Reported, Reports};
use crate::step::reply::typed;
use crate::step::{Args, Call, Step};
use evenkeel_link::LinkError;
use redis::{Pipeline, Value};
use std::time::Duration;

/// The response time-out of a report. It is shorter than that of most links, which therefore do not count it as silence of the server.
const REPORT_TIMEOUT: Duration = Duration::from_millis(500);

/// Stores the report of a process, at the store's time. Returns whether it was stored: it is not while another program's value is under the
/// key of the list.
#[derive(Clone, Debug)]
pub struct Report {
    /// The process.
    pub id: String,
    /// Its report.
    pub text: String,
}

/// Removes a process that ends.
#[derive(Clone, Debug)]
pub struct Leave {
    /// The process.
    pub id: String,
}

impl Step<Namespace> for Report {
    type Reply = bool;

    fn call(&self, namespace: &Namespace) -> Call {
        let args = Args::default().bytes(&self.id).bytes(&self.text);
        let args = args.number(REPORT_TTL_MS).number(SEEN_TTL_MS).size(PROCESSES_MAX);
        Call::function_and(&REPORT, namespace.report(&self.id), args).within(REPORT_TIMEOUT)
    }

    fn reply(&self, value: Value) -> Result<bool, LinkError> {
        Ok(typed::<i64>(value)? == 1)
    }

    fn apply(&self, reports: &mut Reports, now_ms: u64) -> Result<bool, LinkError> {
        reports.insert(self.id.clone(), Reported { at_ms: now_ms, text: self.text.clone() });
        reports.retain(|_, report| report.at_ms <= now_ms && now_ms - report.at_ms <= SEEN_TTL_MS);
        while reports.len() > PROCESSES_MAX {
            let oldest = reports.iter().min_by_key(|(id, report)| (report.at_ms, id.as_str()));
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
            reports.remove(&oldest);
        }
        Ok(true)
    }
}

impl Step<Namespace> for Leave {
    type Reply = ();

    fn call(&self, namespace: &Namespace) -> Call {
        let mut commands = Pipeline::with_capacity(2);
        commands.cmd("ZREM").arg(namespace.times()).arg(&self.id);
        commands.cmd("DEL").arg(namespace.report(&self.id));
        Call::commands(commands).within(REPORT_TIMEOUT)
    }

    fn reply(&self, _: Value) -> Result<(), LinkError> {
        Ok(())
    }

    fn apply(&self, reports: &mut Reports, _: u64) -> Result<(), LinkError> {
        reports.remove(&self.id);
        Ok(())
    }
}
