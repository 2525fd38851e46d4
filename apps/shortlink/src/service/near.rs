//! [`NearCache`]: the setting of the in-process cache in front of Redis.

/// The in-process cache in front of the shared cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearCache {
    /// Disabled: every redirect reads the shared cache.
    Off,
    /// Enabled with the default capacity if Redis supports invalidation messages; otherwise disabled, with a warning in the log.
    IfSupported,
    /// Enabled with this capacity. Opening fails if Redis does not support invalidation messages.
    Capacity(usize),
}

impl From<Option<usize>> for NearCache {
    /// From the optional setting `near`.
    fn from(setting: Option<usize>) -> Self {
        match setting {
            None => NearCache::IfSupported,
            Some(0) => NearCache::Off,
            Some(links) => NearCache::Capacity(links),
        }
    }
}
