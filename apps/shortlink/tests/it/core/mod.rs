//! Codes, stores, configuration, import and export.

mod first;
