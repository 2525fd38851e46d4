//! Who may do what: one table for pages, forms, API and event streams.

mod guard;
mod rejected;
mod scope;
mod table;
mod visitor;

pub(crate) use guard::{CSRF_FIELD, Notice};
pub(crate) use rejected::{PAGE_FIELD, Rejected, Typed};
pub(crate) use scope::Scope;
pub(crate) use table::{API_BODY_BYTES_MAX, Table};
pub(crate) use visitor::{Via, Visitor};

pub(crate) use crate::roles::{Action, Role};
