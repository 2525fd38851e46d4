//! Codes, stores, configuration, import and export: everything that needs no HTTP.

mod hermetic;
mod store_suite;
mod stores;
