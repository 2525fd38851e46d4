//! Makes an input from a number: a valid one, damaged.

use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

/// Damages done to one input.
const DAMAGES_MAX: usize = 6;
/// No target has to read more.
const BYTES_MAX: usize = 64 * 1024;
/// Numbers at which parsers stumble.
const EDGES: [u8; 8] = [0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, b'\n', b'"'];

/// The input of case `number`; always the same for the same number and the same valid inputs.
pub(crate) fn input(valid: fn() -> Vec<Vec<u8>>, number: u64) -> Vec<u8> {
    let mut random = SmallRng::seed_from_u64(number);
    let mut seeds = valid();
    let other = seeds[random.random_range(0..seeds.len())].clone();
    let chosen = random.random_range(0..seeds.len());
    let mut input = seeds.swap_remove(chosen);
    for _ in 0..random.random_range(0..=DAMAGES_MAX) {
        damage(&mut input, &other, &mut random);
    }
    input.truncate(BYTES_MAX);
    input
}

fn damage(input: &mut Vec<u8>, other: &[u8], random: &mut SmallRng) {
    let length = input.len();
    let at = random.random_range(0..=length);
    let some = random.random_range(0..=(length - at).min(32));
    match random.random_range(0..9) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..at + some)),
        2 => input[at..at + some].fill_with(|| random.next_u32().to_le_bytes()[0]),
        3 => input[at..at + some].iter_mut().for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
        4 => input.insert(at, EDGES[random.random_range(0..EDGES.len())]),
        5 => {
            let copy = input[at..at + some].to_vec();
            let times = random.random_range(1..64);
            copy.iter().cycle().take(copy.len() * times).for_each(|byte| input.push(*byte));
        }
        6 => {
            let from = random.random_range(0..=other.len());
            drop(input.splice(at..at + some, other[from..].iter().copied()));
        }
        7 => input[at..at + some].fill(EDGES[random.random_range(0..EDGES.len())]),
        _ => {
            let number = random.next_u64() >> random.random_range(0..64);
            drop(input.splice(at..at + some, number.to_string().into_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::input;
    use std::collections::HashSet;

    #[test]
    fn a_number_makes_its_input_again_and_numbers_make_many() {
        let valid = || vec![b"{\"id\":1}".to_vec(), b"other".to_vec()];
        let inputs: HashSet<Vec<u8>> = (0..1000).map(|number| input(valid, number)).collect();
        assert!((0..1000).all(|number| inputs.contains(&input(valid, number))));
        assert!(inputs.len() > 500, "{} different inputs", inputs.len());
    }
}
