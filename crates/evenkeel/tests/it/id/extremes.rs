//! Every public parameter of texts of numbers at zero, one, its bounds, just above them, and at its largest.

use evenkeel::id::Alphabet::{Base58, Base62};
use evenkeel::id::{Shuffle, ShuffleKey};

#[test]
fn extreme_numbers_have_texts_and_images() {
    let numbers = [0, 1, 57, 58, 61, 62, 1 << 53, (1 << 53) + 1, u64::MAX - 1, u64::MAX];
    for number in numbers {
        for alphabet in [Base62, Base58] {
            let text = alphabet.encode(number);
            assert_eq!(alphabet.decode(&text), Some(number));
            for width in [0, 1, 11, 12, u8::MAX] {
                let padded = alphabet.encode_padded(number, width);
                assert_eq!(
                    padded.and_then(|text| alphabet.decode_padded(&text, width)).is_some(),
                    usize::from(width) >= text.len()
                );
            }
        }
        for limit in numbers {
            let shuffle = Shuffle::new(ShuffleKey::from([0; 32]), limit);
            let image = shuffle.apply(number);
            assert_eq!(image.is_some(), number < limit);
            assert_eq!(image.and_then(|image| shuffle.invert(image)).is_some(), number < limit);
            assert_eq!(shuffle.invert(u64::MAX), None);
        }
    }
    assert_eq!((Base62.numbers(0), Base62.numbers(1), Base58.numbers(u8::MAX)), (Some(1), Some(62), None));
    for text in ["", "\0", "0O", &"1".repeat(1 << 20)] {
        assert_eq!(Base58.decode(text), None);
        assert_eq!(Base58.decode_padded(text, u8::MAX), None);
    }
}
