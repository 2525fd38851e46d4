//! [`run`]: executes the operations of a share concurrently.

use super::share::{Operation, Share};
use super::{Ended, OperationResult, faults};
use crate::domain::{Day, Strategy};
use crate::service::{NewArrival, Service, ServiceError};
use crate::strategy::{Applied, ChangeError};
use anyhow::Result;
use evenkeel::lock::LockError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The ids of orders that can be released.
type Orders = Arc<Mutex<Vec<String>>>;

/// Executes all operations of `share`, at most `in_flight` at the same time, and passes each result to `ended`. With `cancels`, some
/// tasks are cancelled.
pub(super) async fn run(
    service: &Service,
    share: &Share,
    cancels: bool,
    ended: &mut (dyn FnMut(Ended) + Send),
) -> Result<()> {
    let strategy: Strategy = share.strategy.parse()?;
    let orders = Orders::default();
    let mut tasks = JoinSet::new();
    for number in 0..share.operations {
        if u64::try_from(tasks.len()).unwrap_or(u64::MAX) >= share.in_flight
            && let Some(joined) = tasks.join_next().await
        {
            ended(joined?);
        }
        let operation = share.operation(number);
        let cancel = if cancels { faults::cancelled_after(&mut share.random(number)) } else { None };
        tasks.spawn(timed(service.clone(), orders.clone(), operation, strategy, cancel));
    }
    while let Some(joined) = tasks.join_next().await {
        ended(joined?);
    }
    Ok(())
}

async fn timed(
    service: Service,
    orders: Orders,
    operation: Operation,
    strategy: Strategy,
    cancel: Option<Duration>,
) -> Ended {
    let began = Instant::now();
    let operation = Box::pin(execute(&service, &orders, operation, strategy));
    let executed = match cancel {
        None => Some(operation.await),
        Some(after) => tokio::time::timeout(after, operation).await.ok(),
    };
    let (result, applied) = match executed {
        None => (OperationResult::Cancelled, None),
        Some(Ok(applied)) => (OperationResult::Done, applied),
        Some(Err(error)) => (result_of(&error), None),
    };
    let (conflicts, interferences) = applied.map_or((0, 0), |applied| (applied.conflicts, applied.interferences));
    Ended { result, micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), conflicts, interferences }
}

async fn execute(
    service: &Service,
    orders: &Orders,
    operation: Operation,
    strategy: Strategy,
) -> Result<Option<Applied>, ServiceError> {
    let released = match &operation {
        Operation::Release { .. } => orders.lock().pop(),
        _ => None,
    };
    match (operation, released) {
        (Operation::Arrive { product, quantity, day }, _) => {
            let new = NewArrival { commodity_name: product, quantity, day: Day::parse(&day).ok() };
            Ok(Some(service.receive(&new, Some(strategy)).await?.applied))
        }
        (_, Some(order)) => Ok(service.release(&order, Some(strategy)).await?.applied),
        (Operation::Reserve { product, quantity } | Operation::Release { product, quantity }, None) => {
            let created = service.reserve(&product, quantity, Some(strategy)).await?;
            orders.lock().push(created.order.id);
            Ok(created.applied)
        }
    }
}

fn result_of(error: &ServiceError) -> OperationResult {
    match error {
        ServiceError::Change(ChangeError::Rejected(_) | ChangeError::NothingToRelease) => OperationResult::Refused,
        ServiceError::Change(ChangeError::Conflict { .. } | ChangeError::Lock(LockError::Busy { .. })) => {
            OperationResult::GaveUp
        }
        error => {
            tracing::debug!(%error, "a change failed");
            OperationResult::Failed
        }
    }
}
