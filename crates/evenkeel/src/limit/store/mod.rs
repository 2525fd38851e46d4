//! The steps of the limits of a keel, on Redis or in memory.

mod instances;

use crate::context::Context;
use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, Token};
use evenkeel_protocol::limit::LimitBackend;
use evenkeel_protocol::limit::error::LimitError;
use evenkeel_protocol::limit::steps::{Debit, Debited};
use futures_util::future::join;
use instances::Instances;
use metrics::Gauge;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The response time-out of a debit. With the delay of its timer, a call is decided within 50 ms.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(40);

/// The state that the limits of one keel share.
pub(crate) struct Limits {
    pub(super) clock: Clock,
    link: Option<Link>,
    /// Made when the first limit is opened: programs without a limit have no timer for its time-out.
    backend: OnceLock<LimitBackend>,
    /// Identifies this process among the instances of a limit.
    instance: Token,
}

impl Limits {
    pub(crate) fn new(context: &Context) -> Self {
        let (clock, link) = (context.clock.clone(), context.link.clone());
        Self { clock, link, backend: OnceLock::new(), instance: Token::random() }
    }

    /// Limits on the same embedded store, like those of another process on the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, context: &Context) -> Self {
        Self { backend: OnceLock::from(self.backend().clone()), ..Self::new(context) }
    }

    fn backend(&self) -> &LimitBackend {
        self.backend.get_or_init(|| match &self.link {
            None => LimitBackend::memory(self.clock.clone()),
            Some(link) => LimitBackend::redis(link.with_response_timeout(RESPONSE_TIMEOUT)),
        })
    }
}

/// The store of one limit.
pub(super) struct LimitStore {
    backend: LimitBackend,
    name: Arc<str>,
    /// `None` if the limit needs no number of instances.
    instances: Option<Instances>,
}

impl LimitStore {
    pub(super) fn new(limits: &Limits, name: &Arc<str>, counts_instances: bool, gauge: Gauge) -> Self {
        let backend = limits.backend().clone();
        // The embedded store is always available.
        let counts = counts_instances && backend.link().is_some();
        let instances = counts.then(|| Instances::new(&backend, name, limits.instance, limits.clock.clone(), gauge));
        Self { backend, name: Arc::clone(name), instances }
    }

    /// The number of instances last seen.
    pub(super) fn instances(&self) -> u32 {
        self.instances.as_ref().map_or(1, Instances::seen)
    }

    /// Counts the instances, if that is due.
    pub(super) async fn attend(&self) {
        if let Some(instances) = &self.instances {
            instances.attend(&self.backend).await;
        }
    }

    /// Runs a debit of this first subject.
    pub(super) async fn debit(&self, first: &str, debit: &Debit) -> Result<Debited, LimitError> {
        let subject = self.backend.subject(&self.name, first);
        let debiting = self.backend.run(&subject, debit);
        if self.instances.as_ref().is_some_and(Instances::is_due) {
            return join(debiting, self.attend()).await.0;
        }
        debiting.await
    }
}
