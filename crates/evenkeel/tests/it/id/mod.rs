//! Ids and their texts.

mod extremes;
