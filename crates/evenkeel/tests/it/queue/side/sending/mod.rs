//! Senders: opening a queue, enqueueing jobs and schedules.

mod codecs;
mod durable;
mod openings;
mod periods;
mod registered;
mod sends;
