//! One entry, as small as the promises need it.

/// What is stored under the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    /// Changes with every creation and every invalidation. A counter replaces the random bits: it never repeats.
    pub(super) generation: u8,
    /// Leases granted within the generation.
    pub(super) granted: u8,
    /// Ordinal of the lease whose value is stored.
    pub(super) filled: u8,
    /// The lease under which the value was loaded, counted by an observer of all leases.
    pub(super) lease: u8,
    /// Another loader holds a lease that has not expired.
    pub(super) leased: bool,
    /// The version of the row that may be served.
    pub(super) value: Option<u8>,
    /// Writers whose update window is open, a bit each.
    pub(super) windows: u8,
}

impl Entry {
    /// Ends every load that began before.
    pub(super) fn invalidate(&mut self, generation: u8) {
        *self = Entry { generation, windows: self.windows, ..Entry::default() };
    }
}
