//! The relay on each database: the same stories three times.

mod mariadb;
mod postgres;
mod recorder;
mod sqlite;
