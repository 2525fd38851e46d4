//! Numbers in Base62, fixed width, most significant character first.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `number` in `width` characters. Callers stay below 62^width; larger numbers lose their leading digits.
pub(super) fn encode(number: u64, width: u32) -> String {
    (0..width).rev().map(|place| char::from(DIGITS[digit(number, place)])).collect()
}

/// The inverse of [`encode`]; `None` unless `text` has exactly `width` Base62 characters and fits into 64 bits.
pub(super) fn decode(text: &str, width: u32) -> Option<u64> {
    if text.len() != usize::try_from(width).ok()? {
        return None;
    }
    text.bytes().try_fold(0u64, |number, byte| {
        let digit = DIGITS.iter().position(|known| *known == byte)?;
        number.checked_mul(62)?.checked_add(u64::try_from(digit).ok()?)
    })
}

fn digit(number: u64, place: u32) -> usize {
    (number / 62u64.pow(place) % 62) as usize
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn encode_known_numbers() {
        assert_eq!(encode(0, 7), "0000000");
        assert_eq!(encode(61, 7), "000000z");
        assert_eq!(encode(62, 7), "0000010");
        assert_eq!(encode(62u64.pow(7) - 1, 7), "zzzzzzz");
    }

    #[test]
    fn decode_inverts_encode() {
        for number in [0, 1, 61, 62, 3843, 3844, 1_234_567_890_123, 62u64.pow(7) - 1] {
            assert_eq!(decode(&encode(number, 7), 7), Some(number));
        }
    }

    #[test]
    fn decode_rejects_other_widths_and_characters() {
        for text in ["", "000000", "00000000", "00000-0", "000000é"] {
            assert_eq!(decode(text, 7), None, "{text:?}");
        }
    }
}
