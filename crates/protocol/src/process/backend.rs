//! [`ProcessBackend`]: where the reports are.

use crate::step::{Backend, Place};
use evenkeel_link::LinkError;
use std::collections::BTreeMap;
use std::sync::Arc;

scripts! {
    /// The scripts of process reports.
    pub const SCRIPTS in "", "steps/";
    library "process" of [];

    pub(crate) static REPORT = "report-2", "", [];
    pub(crate) static REPORTS = "reports-1", "no-writes", [];
}

/// A store of process reports, which runs the steps. Cheap to clone.
pub type ProcessBackend = Backend<Namespace>;

/// The processes under one prefix. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<str>);

/// The reports in an embedded store, by process.
pub type Reports = BTreeMap<String, Reported>;

/// The last report of a process.
pub struct Reported {
    pub(crate) at_ms: u64,
    pub(crate) text: String,
}

impl Namespace {
    /// The processes under this prefix.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self(format!("{prefix}:{{p}}").into())
    }

    /// The key of the times of the last reports.
    #[must_use]
    pub fn times(&self) -> &str {
        &self.0
    }

    /// The key of the report of a process.
    pub(crate) fn report(&self, id: &str) -> String {
        format!("{}:{id}", self.0)
    }
}

impl Place for Namespace {
    type State = Reports;
    type States = Reports;
    type Error = LinkError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn open<'a>(&self, reports: &'a mut Reports, _: u64) -> &'a mut Reports {
        reports
    }

    fn wakes(_: &mut Reports) -> bool {
        false
    }
}
