//! What is fed, one file each. A target panics if a promise is broken.

mod addresses;
mod cache_entry;
mod codecs;
mod effects;
mod import_rows;
mod queue_job;
mod redis_url;
mod spool;

/// Something that parses bytes.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Valid inputs, to be damaged.
    pub(crate) valid: fn() -> Vec<Vec<u8>>,
    /// Reads the input and checks what is promised for any input.
    pub(crate) feed: fn(&[u8]),
}

pub(crate) const TARGETS: &[Target] = &[
    cache_entry::TARGET,
    queue_job::TARGET,
    codecs::TARGET,
    effects::TARGET,
    redis_url::TARGET,
    spool::TARGET,
    addresses::TARGET,
    import_rows::TARGET,
];

#[cfg(test)]
mod tests {
    use super::TARGETS;
    use crate::damage::input;

    /// The long form is `cargo xtask fuzz`.
    #[test]
    fn a_thousand_cases_of_each_break_nothing() {
        for target in TARGETS {
            (0..1000).for_each(|number| (target.feed)(&input(target.valid, number)));
        }
    }

    #[test]
    fn valid_inputs_pass() {
        for target in TARGETS {
            (target.valid)().iter().for_each(|valid| (target.feed)(valid));
        }
    }
}
