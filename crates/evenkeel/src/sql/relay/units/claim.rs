//! The claim of a pass on units of work. It is short, so that other relays soon take over the rows of a process that died, and is
//! renewed while the pass lasts.

use crate::sql::outbox::WorkId;
use crate::sql::relay::core::Core;
use crate::sql::relay::rows::{self, Claimed};
use crate::sql::relay::settings::PASS_MAX;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::ms;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::sync::Notify;

/// A claim on the rows of one pass.
pub(super) struct Claim {
    token: Token,
    units: Vec<WorkId>,
    lease: Duration,
    began: Moment,
    /// When it expires, unless it is renewed.
    until: Mutex<Moment>,
}

impl Claim {
    pub(super) fn new(token: Token, began: Moment, lease: Duration, claimed: &[Claimed]) -> Self {
        let units = claimed.iter().map(|row| row.work).collect();
        Self { token, units, lease, began, until: Mutex::new(began + lease) }
    }

    /// Whether nothing is started any more: the claim may have expired, or the pass has taken too long.
    pub(super) fn is_late(&self, now: Moment) -> bool {
        now >= *self.until.lock() || now >= self.began + PASS_MAX
    }

    /// Renews the claim while `pass` runs. A renewal that fails is repeated with the next one; if the claim expires meanwhile, its
    /// effects may be carried out twice.
    pub(super) async fn renewed_during<T>(&self, core: &Core, pass: impl Future<Output = T>) -> T {
        let over = Notify::new();
        let pass = async {
            let outcome = pass.await;
            over.notify_one();
            outcome
        };
        // It ends between two statements: a statement that is dropped may cost its connection.
        let renewals = async {
            loop {
                tokio::select! {
                    biased;
                    () = over.notified() => return,
                    () = core.clock().sleep(self.lease / 3) => self.renew(core).await,
                }
            }
        };
        tokio::join!(pass, renewals).0
    }

    async fn renew(&self, core: &Core) {
        let sent = core.clock().now();
        let renewed = match core.connection().await {
            Ok(mut connection) => {
                core.within(rows::renew(&mut *connection, self.token, &self.units, ms(self.lease))).await
            }
            Err(error) => Err(error),
        };
        match renewed {
            Ok(_) => *self.until.lock() = sent + self.lease,
            Err(error) => {
                core.metrics.call_failed("renew");
                tracing::debug!(%error, "a claim of the relay was not renewed");
            }
        }
    }
}
