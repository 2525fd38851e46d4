//! Payments of orders: the client's key, and the cards of the test gateway.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest idempotency key.
pub const KEY_CHARACTERS_MAX: usize = 100;

/// A client's name for its request to pay an order: 1 to [`KEY_CHARACTERS_MAX`] visible ASCII characters. A request that is sent again has
/// the same key, and is the same payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// Why a text is no [`IdempotencyKey`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header Idempotency-Key must have 1 to 100 visible ASCII characters without spaces")]
pub struct InvalidKey;

impl IdempotencyKey {
    /// Checks a key.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let is_valid =
            (1..=KEY_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidKey) }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A card of the test gateway: it decides how the gateway behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestCard {
    /// The charge is approved.
    Approved,
    /// The charge is declined.
    Declined,
    /// The first request fails before the gateway decides; the next one is approved.
    FailsOnce,
    /// The first request is approved, and its answer never arrives; the next one repeats the answer.
    HangsOnce,
    /// The charge is approved, and the answer arrives twice.
    AnswersTwice,
}

/// There is no such card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown card {0:?}; available: approved, declined, fails-once, hangs-once, answers-twice")]
pub struct UnknownCard(String);

impl TestCard {
    /// All cards.
    pub const ALL: [Self; 5] = [Self::Approved, Self::Declined, Self::FailsOnce, Self::HangsOnce, Self::AnswersTwice];

    /// Its name in requests and in the database.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Declined => "declined",
            Self::FailsOnce => "fails-once",
            Self::HangsOnce => "hangs-once",
            Self::AnswersTwice => "answers-twice",
        }
    }
}

impl fmt::Display for TestCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TestCard {
    type Err = UnknownCard;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|card| card.name() == text);
        named.ok_or_else(|| UnknownCard(text.chars().take(40).collect()))
    }
}

/// An entry of the stream of payments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRequested {
    /// Id of the payment.
    pub payment: String,
}

impl PaymentRequested {
    /// The key of the entry, for a payment of this product. As text: the key of a message of the outbox has no zero bytes.
    #[must_use]
    pub fn key(commodity: i64) -> String {
        commodity.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::{IdempotencyKey, TestCard};

    #[test]
    fn key_is_visible_ascii() {
        for valid in ["k", "order-7/1", &"x".repeat(100)] {
            assert_eq!(IdempotencyKey::parse(valid).map(|key| key.as_str().to_owned()).as_deref(), Ok(valid));
        }
        for invalid in ["", "a b", "a\n", "\u{e4}", &"x".repeat(101)] {
            assert!(IdempotencyKey::parse(invalid).is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn card_name_round_trips() {
        for card in TestCard::ALL {
            assert_eq!(card.name().parse(), Ok(card));
        }
        assert!("gold".parse::<TestCard>().is_err());
    }
}
