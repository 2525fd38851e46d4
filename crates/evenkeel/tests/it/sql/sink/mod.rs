//! Sinks: Redis streams, their model, NATS.

mod foreign;
#[cfg(feature = "nats")]
mod nats;
mod stream;
mod stream_model;
