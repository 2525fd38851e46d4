//! Lua as source: loaded on every epoch, called by hash.

/// One Lua script of a capability. Declare it as a `static`; `link` adds the shared prelude (time) and knows its hash.
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    source: &'static str,
}

impl Script {
    /// `name` is the file name without ending (`lease-1`: the number counts the keys), `source` the file's text.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Self { name, source }
    }

    /// The file name without ending.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The text that is sent to Redis, without the prelude.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }
}
