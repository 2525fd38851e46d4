//! Times that were meant as seconds.

/// The highest number of milliseconds that is taken for seconds: a time in 1973, or as seconds one in 5138.
const SECONDS_MAX: u64 = 99_999_999_999;

/// The reason why a time that a caller gives in ms since 1970 is rejected: it is in the first years of the count, so it was meant as
/// seconds. The time 0 is not: it means "at once".
#[must_use]
pub fn in_seconds(ms: u64) -> Option<String> {
    (1..=SECONDS_MAX).contains(&ms).then(|| {
        format!("the time {ms} is in the years 1970 to 1973; times are in milliseconds since 1970, and this one looks like seconds: multiply it by 1,000")
    })
}
