//! Consumers: claims, leases, handlers, and how deliveries end.

mod answers;
mod batches;
mod claims;
mod ends;
mod failures;
mod layers;
mod leases;
mod logged;
mod suspects;
