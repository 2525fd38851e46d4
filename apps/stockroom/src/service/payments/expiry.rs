//! [`Expiry`]: ends an order that is not paid in time.

use crate::domain::Cause;
use crate::service::{Service, ServiceError};
use crate::store::OrderState;
use crate::strategy::ChangeError;
use std::time::Duration;
use tracing::info;

/// When an order is looked at again that is being paid.
const PAYING_PAUSE: Duration = Duration::from_secs(2);

/// What a look at an order has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// It has expired now.
    Expired,
    /// It is over: paid, released, or expired before. Or it was never committed.
    Over,
    /// It is being paid, or its time to pay has not ended: look again after this time.
    Later(Duration),
    /// Its goods would exceed the limit of the stock.
    Full,
}

impl Service {
    /// Expires an order, if it is unpaid and its time to pay has ended: its goods return to the stock. The conditional update of its row
    /// decides against a payment at the same time.
    ///
    /// # Errors
    /// [`ServiceError::Change`], [`ServiceError::Store`].
    pub(super) async fn expire(&self, id: &str) -> Result<Expiry, ServiceError> {
        let order = match self.order(id).await {
            // The process died between this job and the commit of the order.
            Err(ServiceError::UnknownOrder(_)) => return Ok(Expiry::Over),
            found => found?,
        };
        match (order.state, order.pay_by) {
            (OrderState::Reserved, Some(pay_by)) if pay_by <= self.now_ms() => {}
            (OrderState::Reserved, Some(pay_by)) => {
                let left = u64::try_from(pay_by - self.now_ms()).unwrap_or_default();
                return Ok(Expiry::Later(Duration::from_millis(left)));
            }
            // If it is declined, the order is unpaid again.
            (OrderState::Paying, _) => return Ok(Expiry::Later(PAYING_PAUSE)),
            _ => return Ok(Expiry::Over),
        }
        let (cause, strategy) = (Cause::Expire(order.id.clone()), self.0.options.strategy);
        match self.change(order.commodity, order.quantity, cause, strategy, self.now_ms()).await {
            Ok(_) => {
                info!(order = order.id, "an unpaid order has expired");
                Ok(Expiry::Expired)
            }
            // A payment or a release came first. A declined payment makes the order unpaid again.
            Err(ServiceError::Change(ChangeError::NothingToRelease)) => Ok(Expiry::Later(PAYING_PAUSE)),
            Err(ServiceError::Change(ChangeError::Rejected(_))) => Ok(Expiry::Full),
            Err(error) => Err(error),
        }
    }
}
