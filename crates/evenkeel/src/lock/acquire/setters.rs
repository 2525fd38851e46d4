//! The settings that all builders of locks have: those of their [`LockTerms`](super::terms::LockTerms).

macro_rules! term_setters {
    ($held:literal, $all:literal) => {
        #[doc = concat!("Sets all [`LockTerms`](crate::lock::LockTerms) at once.", $all)]
        pub fn terms(mut self, terms: crate::lock::LockTerms) -> Self {
            self.terms = terms;
            self
        }

        #[doc = concat!(
            "The lease: how long ", $held, " stays taken after its holder has died, up to a day. A live holder renews it every third of ",
            "this. Default 30 s."
        )]
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.terms = self.terms.ttl(ttl);
            self
        }

        /// How long to wait while it is not available: [`Wait::No`](crate::lock::Wait::No), a `Duration`, or
        /// [`Wait::Forever`](crate::lock::Wait::Forever). Default 30 s.
        pub fn wait(mut self, wait: impl Into<crate::lock::Wait>) -> Self {
            self.terms = self.terms.wait(wait);
            self
        }

        #[doc = concat!(
            "How long ", $held, " may be held with renewals. After that it is lost, so that a leaked or hanging guard does not hold it ",
            "forever. Default an hour; `None`, or a hundred years and more, is no limit."
        )]
        pub fn max_hold(mut self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            self.terms = self.terms.max_hold(limit);
            self
        }

        /// A description of the holder for operators (`evenkeel lock show`): at most 1 KiB. Default empty.
        pub fn metadata(mut self, text: impl Into<String>) -> Self {
            self.terms = self.terms.metadata(text);
            self
        }
    };
}

pub(crate) use term_setters;
