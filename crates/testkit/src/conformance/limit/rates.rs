//! Rates with a burst.

use super::rig::{Rig, rate, window};
use anyhow::{Result, ensure};
use evenkeel::limit::{LimitError, Quota};
use evenkeel_protocol::limit::quota::WAIT_MS_MAX;

/// A third of a second is not a whole number of milliseconds: the time is rounded up, the bucket is not rounded.
// shows: M1
pub async fn burst_is_admitted_at_once_and_then_the_rate(rig: &Rig) -> Result<()> {
    let quota = rate(3, 1_000, 5);
    for left in (0..5).rev() {
        assert_eq!(rig.take(quota, 1).await?, left);
    }
    assert_eq!(rig.refused(quota, 1).await?, 334);
    rig.time.advance(333).await?;
    assert_eq!(rig.refused(quota, 1).await?, 1);
    rig.time.advance(1).await?;
    assert_eq!(rig.take(quota, 1).await?, 0);
    Ok(())
}

/// Rounded to whole microseconds or milliseconds for each token, three a second become fewer.
// shows: M1, hazard LI1
pub async fn rate_loses_no_token_to_rounding(rig: &Rig) -> Result<()> {
    let quota = rate(3, 1_000, 5);
    rig.take(quota, 5).await?;
    let began = rig.time.now();
    for _ in 0..90 {
        rig.time.advance(rig.refused(quota, 1).await?).await?;
        rig.take(quota, 1).await?;
    }
    assert_eq!(rig.time.now() - began, 30_000);
    Ok(())
}

/// A bucket does not become fuller than full.
// shows: M1
pub async fn pause_refills_no_more_than_the_burst(rig: &Rig) -> Result<()> {
    let quota = rate(10, 1_000, 4);
    rig.take(quota, 3).await?;
    rig.time.advance(86_400_000).await?;
    assert_eq!(rig.take(quota, 4).await?, 0);
    assert_eq!(rig.refused(quota, 4).await?, 400);
    Ok(())
}

/// A refused call for many tokens takes none: one for fewer is admitted.
// shows: M2
pub async fn call_of_many_tokens_gets_all_or_none(rig: &Rig) -> Result<()> {
    let quota = rate(10, 1_000, 10);
    assert_eq!(rig.take(quota, 7).await?, 3);
    assert_eq!(rig.refused(quota, 4).await?, 100);
    assert_eq!(rig.take(quota, 3).await?, 0);
    rig.time.advance(1_000).await?;
    assert_eq!(rig.take(quota, 10).await?, 0);
    Ok(())
}

/// More than one token a millisecond.
// shows: M1
pub async fn fast_rate_refills_many_tokens_a_millisecond(rig: &Rig) -> Result<()> {
    let quota = rate(2_500, 1_000, 100);
    rig.take(quota, 100).await?;
    assert_eq!(rig.refused(quota, 1).await?, 1);
    rig.time.advance(1).await?;
    assert_eq!(rig.take(quota, 1).await?, 1);
    rig.time.advance(1).await?;
    assert_eq!(rig.take(quota, 4).await?, 0, "two and a half are refilled each time");
    Ok(())
}

/// What can never be admitted is an error, and not a refusal that is tried again for ever.
pub async fn invalid_debits_are_rejected(rig: &Rig) -> Result<()> {
    let one = rate(1, 1_000, 2);
    let many = [one; 9];
    let cases: [(&[Quota], u32, u64); 6] = [
        (&[], 1, 0),
        (&many[..3], 0, 0),
        (&[one], 3, 0),
        (&[one, window(1, 1_000)], 2, 0),
        (&[one], 1, WAIT_MS_MAX + 1),
        (&[one], u32::MAX, u64::MAX),
    ];
    for (quotas, tokens, wait_ms_max) in cases {
        let error = rig.debit(quotas, tokens, wait_ms_max).await.err();
        ensure!(matches!(error, Some(LimitError::Invalid(_))), "{quotas:?} {tokens} {wait_ms_max}: {error:?}");
    }
    assert_eq!(rig.take(one, 2).await?, 0, "nothing was taken");
    Ok(())
}
