//! In place of `windows.rs` without the feature `cache`: there is no cache, so there are no update windows.

use crate::sql::error::SqlError;
use crate::sql::outbox::WorkId;
use std::convert::Infallible;
use std::future::pending;

pub(super) type RequestedWindow = Infallible;

pub(super) struct Windows;

pub(super) fn is_unconfirmed(end: &Infallible) -> bool {
    match *end {}
}

impl Windows {
    pub(super) async fn open(_work: WorkId, _requested: Vec<RequestedWindow>) -> Result<Self, SqlError> {
        Ok(Self)
    }

    pub(super) async fn check(&self) -> Result<(), SqlError> {
        Ok(())
    }

    pub(super) async fn keep_open(&self) -> Infallible {
        pending().await
    }

    pub(super) async fn end(self) -> Option<Infallible> {
        None
    }

    pub(super) fn abandon(self) {}
}
