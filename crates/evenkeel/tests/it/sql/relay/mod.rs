//! The relay on each database: the same stories three times.
#![expect(clippy::duplicate_mod, reason = "each database has its own copy of the stories, with its own types")]

mod mariadb;
mod postgres;
mod recorder;
mod sqlite;
