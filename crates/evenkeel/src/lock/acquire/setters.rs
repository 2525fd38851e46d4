//! The settings that all builders of locks have: those of their [`LockTerms`](super::terms::LockTerms).

macro_rules! term_setters {
    ($($terms:ident).+, $held:literal, $all:literal) => {
        setters! {
            #[doc = concat!("Sets all [`LockTerms`](crate::lock::LockTerms) at once.", $all)]
            pub fn terms(terms: crate::lock::LockTerms) => $($terms).+ = terms;

            #[doc = concat!(
                "The lease: how long ", $held, " stays taken after its holder has died, up to a day. A live holder renews it every third ",
                "of this. One that is longer than `max_hold` is rejected. Default 30 s, or `max_hold` if that is shorter."
            )]
            pub fn ttl(ttl: std::time::Duration) => $($terms).+.ttl = Some(ttl);

            /// How long to wait while it is not available: [`Wait::No`](crate::lock::Wait::No), a `Duration`, or
            /// [`Wait::Forever`](crate::lock::Wait::Forever). Default 30 s.
            pub fn wait(wait: impl Into<crate::lock::Wait>) => $($terms).+.wait = wait.into();

            #[doc = concat!(
                "How long ", $held, " may be held with renewals. After that it is lost, so that a leaked or hanging guard does not hold ",
                "it forever. Default an hour; `None`, or a hundred years and more, is no limit."
            )]
            pub fn max_hold(limit: impl Into<Option<std::time::Duration>>) => $($terms).+.hold_max = limit.into();

            /// A description of the holder for operators (`evenkeel lock show`): at most 1 KiB. Default empty.
            pub fn metadata(text: impl Into<String>) => $($terms).+.metadata = text.into();
        }
    };
}

pub(crate) use term_setters;
