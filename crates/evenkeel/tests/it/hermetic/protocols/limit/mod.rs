//! Limits as models: the buckets of several levels, and a sliding window.

mod rate;
mod window;
