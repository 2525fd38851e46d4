//! Makes the changes of a slice from many tasks at once.

use super::slice::{Operation, Slice};
use super::{Ended, Outcome, faults};
use crate::domain::{Day, Strategy};
use crate::service::{NewArrival, Service, ServiceError};
use crate::strategy::{ChangeError, Changed};
use anyhow::Result;
use evenkeel::lock::LockError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Orders that can be released.
type Orders = Arc<Mutex<Vec<String>>>;

/// Makes all changes of `slice`, `in_flight` at once; `ended` is told of each. With `cancels`, some tasks are cancelled on their way.
pub(super) async fn drive(
    service: &Service,
    slice: &Slice,
    cancels: bool,
    ended: &mut (dyn FnMut(Ended) + Send),
) -> Result<()> {
    let strategy: Strategy = slice.strategy.parse()?;
    let orders = Orders::default();
    let mut tasks = JoinSet::new();
    for number in 0..slice.operations {
        if u64::try_from(tasks.len()).unwrap_or(u64::MAX) >= slice.in_flight
            && let Some(joined) = tasks.join_next().await
        {
            ended(joined?);
        }
        let operation = slice.operation(number);
        let cancel = if cancels { faults::cancelled_after(&mut slice.random(number)) } else { None };
        tasks.spawn(one(service.clone(), orders.clone(), operation, strategy, cancel));
    }
    while let Some(joined) = tasks.join_next().await {
        ended(joined?);
    }
    Ok(())
}

async fn one(
    service: Service,
    orders: Orders,
    operation: Operation,
    strategy: Strategy,
    cancel: Option<Duration>,
) -> Ended {
    let began = Instant::now();
    let work = Box::pin(make(&service, &orders, operation, strategy));
    let made = match cancel {
        None => Some(work.await),
        Some(after) => tokio::time::timeout(after, work).await.ok(),
    };
    let (outcome, changed) = match made {
        None => (Outcome::Cancelled, None),
        Some(Ok(changed)) => (Outcome::Done, changed),
        Some(Err(error)) => (outcome(&error), None),
    };
    let (conflicts, interferences) = changed.map_or((0, 0), |changed| (changed.conflicts, changed.interferences));
    Ended { outcome, micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX), conflicts, interferences }
}

async fn make(
    service: &Service,
    orders: &Orders,
    operation: Operation,
    strategy: Strategy,
) -> Result<Option<Changed>, ServiceError> {
    let released = match &operation {
        Operation::Release { .. } => orders.lock().unwrap_or_else(PoisonError::into_inner).pop(),
        _ => None,
    };
    match (operation, released) {
        (Operation::Arrive { product, quantity, day }, _) => {
            let new = NewArrival { commodity_name: product, quantity, day: Day::parse(&day).ok() };
            Ok(Some(service.arrive(&new, Some(strategy)).await?.changed))
        }
        (_, Some(order)) => Ok(service.release(&order, Some(strategy)).await?.changed),
        (Operation::Reserve { product, quantity } | Operation::Release { product, quantity }, None) => {
            let ordered = service.reserve(&product, quantity, Some(strategy)).await?;
            orders.lock().unwrap_or_else(PoisonError::into_inner).push(ordered.order.id);
            Ok(ordered.changed)
        }
    }
}

fn outcome(error: &ServiceError) -> Outcome {
    match error {
        ServiceError::Change(ChangeError::Refused(_) | ChangeError::NothingToRelease) => Outcome::Refused,
        ServiceError::Change(ChangeError::Conflict { .. } | ChangeError::Lock(LockError::Busy { .. })) => {
            Outcome::GaveUp
        }
        error => {
            tracing::debug!(%error, "a change failed");
            Outcome::Failed
        }
    }
}
