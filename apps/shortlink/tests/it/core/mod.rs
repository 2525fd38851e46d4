//! Codes, stores, configuration, import and export: everything that needs no HTTP.

mod addresses;
mod encrypted;
mod fleet;
mod hermetic;
mod program;
mod refused;
mod store_suite;
mod stores;
mod upgrade;
