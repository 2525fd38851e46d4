//! Steps of which each has a duty of its own: one that is rejected stops no other.

/// Notes the first error of such steps.
#[derive(Debug)]
pub struct Tried<E> {
    first: Option<E>,
    ends: fn(&E) -> bool,
}

impl<E> Tried<E> {
    /// `ends` tells an error that concerns the other steps, too, as that of a server that is unavailable does.
    pub fn unless(ends: fn(&E) -> bool) -> Self {
        Self { first: None, ends }
    }

    /// Steps of which none is of use without the others: each error ends them.
    pub fn whole() -> Self {
        Self::unless(|_| true)
    }

    /// The result of a step; `None` after an error of this step alone.
    ///
    /// # Errors
    /// An error that concerns the other steps, too: none of them is to be tried any more.
    pub fn note<T>(&mut self, answer: Result<T, E>) -> Result<Option<T>, E> {
        match answer {
            Ok(done) => Ok(Some(done)),
            Err(error) if (self.ends)(&error) => Err(error),
            Err(error) => {
                self.first.get_or_insert(error);
                Ok(None)
            }
        }
    }

    /// The end of all steps.
    ///
    /// # Errors
    /// The first error of a step.
    pub fn finish(self) -> Result<(), E> {
        self.first.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::Tried;

    #[test]
    fn rejection_stops_no_other_step_and_an_outage_stops_all() {
        let mut tried = Tried::unless(|error: &u8| *error > 9);
        assert_eq!(tried.note(Err::<(), _>(1)), Ok(None));
        assert_eq!(tried.note(Ok("done")), Ok(Some("done")));
        assert_eq!(tried.note(Err::<(), _>(2)), Ok(None));
        assert_eq!(tried.note(Err::<(), _>(10)), Err(10));
        assert_eq!(tried.finish(), Err(1));
        assert_eq!(Tried::whole().note(Err::<(), u8>(1)), Err(1));
    }
}
