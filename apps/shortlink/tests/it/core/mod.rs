//! Codes, stores, configuration, import and export: everything that needs no HTTP.

mod addresses;
mod hermetic;
mod program;
mod store_suite;
mod stores;
