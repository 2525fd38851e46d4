//! Change capture: rows that change in a database, whoever changes them, invalidate cache entries and call functions.

pub mod source;
