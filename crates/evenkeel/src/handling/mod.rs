//! How handlers run, the same for jobs of queues and entries of streams: their panics become errors, their deliveries are gathered into
//! batches, they are canceled, also when they run too long, and one connection waits for new ones. Below the capabilities: it knows none of them.

pub(crate) mod blocking_reads;
pub(crate) mod cancellation;
pub(crate) mod gather;
pub(crate) mod handler;
pub(crate) mod limit;
pub(crate) mod panics;
pub(crate) mod phase;
pub(crate) mod work;

use bytes::Bytes;

/// An error message, cut to at most this many bytes at a character boundary.
pub(crate) fn cut(message: &str, bytes_max: usize) -> Bytes {
    let mut end = message.len().min(bytes_max);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    Bytes::copy_from_slice(&message.as_bytes()[..end])
}
