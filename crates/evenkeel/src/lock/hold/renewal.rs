//! Renews a lease, and detects its loss.

use super::lease::{Held, Lease};
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard, ms};
use evenkeel_protocol::lock::error::LossReason;
use evenkeel_protocol::lock::steps::Renewed;
use std::sync::Arc;
use std::time::Duration;

/// The number of renewals per lease.
const TIMES_A_LEASE: u32 = 3;
/// The backoff after an unanswered renewal.
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_millis(200) };

/// Starts the task that renews `lease` until it is closed or lost. Needs a runtime.
pub(crate) fn start(lease: &Arc<Lease>) {
    let task = evenkeel_link::support::spawn(keep(Arc::clone(lease)));
    lease.renewed_by(task.abort_handle());
}

async fn keep(lease: Arc<Lease>) {
    let mut renewal = Renewal::new(&lease);
    while let Some(next) = renewal.next_look(&lease) {
        lease.locks.clock.sleep_until(next).await;
        renewal.run_once(&lease).await;
    }
}

/// The schedule of renewals.
struct Renewal {
    every: Duration,
    /// `None` once the lease has reached its limit.
    due: Option<Moment>,
    failures: u32,
}

impl Renewal {
    fn new(lease: &Lease) -> Self {
        let every = (lease.length / TIMES_A_LEASE).max(Duration::from_millis(1));
        // The first renewal counts from the deadline, because the acquisition may have taken long.
        let due = lease.locks.clock.now() + lease.remaining().saturating_sub(lease.length - every);
        Self { every, due: Some(due), failures: 0 }
    }

    /// The time of the next renewal or of the deadline; `None` if the lease is no longer held.
    fn next_look(&self, lease: &Lease) -> Option<Moment> {
        if lease.lost_now().is_some() || !lease.latch.is_held() {
            return None;
        }
        let deadline = lease.locks.clock.now() + lease.remaining();
        Some(self.due.map_or(deadline, |due| due.min(deadline)))
    }

    /// Renews the lease if a renewal is due. Takes no longer than the lease.
    async fn run_once(&mut self, lease: &Arc<Lease>) {
        let (clock, metrics) = (&lease.locks.clock, &lease.locks.metrics);
        if lease.lost_now().is_some() || self.due.is_none_or(|due| clock.now() < due) {
            return;
        }
        let Some(_sending) = Sending::begin(lease) else { return };
        let sent = clock.now();
        let length_ms = ms(lease.length);
        let Held { name, mode, owner } = &lease.held;
        let renew = lease.locks.store.renew_in(*mode, name, *owner, length_ms);
        let counted_from = |sent: Moment| if guard("lock_deadline_from_send") { sent } else { clock.now() };
        match clock.timeout(lease.remaining(), renew).await {
            Ok(Ok(renewed)) => {
                metrics.renewed(renewed);
                self.failures = 0;
                match renewed {
                    Renewed::Renewed { lease_left_ms } => {
                        lease.extend(counted_from(sent), Duration::from_millis(lease_left_ms));
                        self.due = Some(sent + self.every);
                    }
                    Renewed::Held { lease_left_ms } => {
                        lease.extend(counted_from(sent), Duration::from_millis(lease_left_ms));
                        self.due = None;
                    }
                    Renewed::Lost => lease.lose(LossReason::Gone),
                }
            }
            // The outcome is unknown: retry until the deadline, at which the lease is lost.
            Ok(Err(error)) => {
                metrics.renewals_unknown.increment(1);
                tracing::debug!(name = %lease.held.name, %error, "a renewal failed; retrying until the lease ends");
                self.due = Some(clock.now() + RETRY.delay(self.failures).min(self.every));
                self.failures = self.failures.saturating_add(1);
            }
            Err(_) => metrics.renewals_unknown.increment(1),
        }
    }
}

/// Marks a renewal as in progress until it is dropped, also if its task is aborted.
struct Sending<'a>(&'a Arc<Lease>);

impl<'a> Sending<'a> {
    fn begin(lease: &'a Arc<Lease>) -> Option<Self> {
        lease.latch.begin_renewal().then_some(Self(lease))
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.renewal_over();
    }
}
