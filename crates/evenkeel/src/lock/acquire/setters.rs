//! What the builders of shared locks let a program say, once for all of them.

macro_rules! setters {
    ($held:literal) => {
        /// All of [`LockTerms`](crate::lock::LockTerms) at once. A lock delay is refused: it is for exclusive locks.
        pub fn terms(mut self, terms: crate::lock::LockTerms) -> Self {
            self.terms = terms;
            self
        }

        #[doc = concat!("How long ", $held, " stays taken after its holder has died: up to a day. It is renewed every third of that. Default 30 s.")]
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.terms = self.terms.ttl(ttl);
            self
        }

        /// How long to wait while it is not to be had: [`Wait::No`](crate::lock::Wait::No), a `Duration`, or
        /// [`Wait::Forever`](crate::lock::Wait::Forever). Default 30 s.
        pub fn wait(mut self, wait: impl Into<crate::lock::Wait>) -> Self {
            self.terms = self.terms.wait(wait);
            self
        }

        #[doc = concat!("How long ", $held, " may be held with renewals: then it is lost, so that a guard that was leaked or hangs does not keep it for ever. Default an hour; `None` for no limit, as is a hundred years or more.")]
        pub fn max_hold(mut self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            self.terms = self.terms.max_hold(limit);
            self
        }

        /// What the holder says about itself to those who look (`evenkeel lock show`): at most 1 KiB. Default nothing.
        pub fn metadata(mut self, words: impl Into<String>) -> Self {
            self.terms = self.terms.metadata(words);
            self
        }
    };
}

pub(crate) use setters;
