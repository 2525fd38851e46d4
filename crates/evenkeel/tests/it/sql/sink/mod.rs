//! Sinks: Redis streams, their model, NATS.

#[cfg(feature = "nats")]
mod nats;
mod stream;
mod stream_model;
