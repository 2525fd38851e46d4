//! [`Parts`]: a list in the reply of a script.

use super::wire::{Replied, unexpected};
use crate::step::reply::{array, bulk, integer, unsigned};
use bytes::Bytes;
use redis::Value;

/// The parts of a list, one after the other.
pub(crate) struct Parts(std::vec::IntoIter<Value>);

impl Parts {
    /// The parts of this list.
    pub(crate) fn of(reply: Value) -> Replied<Self> {
        Ok(Self(array(reply)?.into_iter()))
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// The number of parts that are left.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The next part.
    pub(crate) fn take(&mut self) -> Replied<Value> {
        self.0.next().ok_or_else(|| unexpected("a reply"))
    }

    /// The next part, which is bytes.
    pub(crate) fn bytes(&mut self) -> Replied<Bytes> {
        Ok(bulk(self.take()?)?)
    }

    /// The next part, which is text.
    pub(crate) fn text(&mut self) -> Replied<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| unexpected("text"))
    }

    /// The next part, which is a number that is not negative.
    pub(crate) fn number(&mut self) -> Replied<u64> {
        Ok(unsigned(&self.take()?)?)
    }

    /// The next part, which is a number; `None` if it is negative.
    pub(crate) fn positive(&mut self) -> Replied<Option<u64>> {
        Ok(u64::try_from(integer(&self.take()?)?).ok())
    }

    /// The next parts, which are numbers that are not negative.
    pub(crate) fn numbers<const N: usize>(&mut self) -> Replied<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }
}
