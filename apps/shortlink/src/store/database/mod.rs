//! The databases: one file for each with the SQL that differs, and what they share to connect, execute and upgrade.

mod dialect;
mod migrations;
pub(super) mod mysql;
mod pools;
pub(super) mod postgres;
mod schema;
pub(super) mod sqlite;

pub(super) use dialect::Dialect;
pub(super) use pools::Pools;
pub(super) use schema::Schema;
