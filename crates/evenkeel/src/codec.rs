//! How values become bytes.
