//! Ids for orders, and short codes for their receipts: an id sorts by time, a code shows neither how many there are nor which is next.
//!
//! `cargo run -p evenkeel --features id --example short_codes`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::id::Alphabet::{Base58, Base62};
use evenkeel::id::{Shuffle, ShuffleKey};
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    let orders = keel.snowflake(&format!("orders-{}", std::process::id())).build().await?;
    let (first, second) = (orders.next().await?, orders.next().await?);
    println!("the second id is above the first: {}", second > first);
    println!("it has at most 11 characters of Base62: {}", Base62.encode(first.get()).len() <= 11);
    println!("in JSON it is a text: {}", serde_json::to_value(first)?.is_string());
    println!("issued by worker {}", orders.parts(first).worker);

    // The key is drawn once, and kept with the data.
    let receipts = Shuffle::new(ShuffleKey::from([7; 32]), 58u64.pow(7));
    for number in 1..=3 {
        let code = receipts.apply(number).and_then(|image| Base58.encode_padded(image, 7)).unwrap_or_default();
        let back = Base58.decode_padded(&code, 7).and_then(|image| receipts.invert(image));
        println!("receipt {number}: {code}, which is number {}", back.unwrap_or_default());
    }
    orders.release().await?;
    keel.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
