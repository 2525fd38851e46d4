//! Several levels in one call.

use super::rig::{Rig, rate, window};
use anyhow::Result;
use evenkeel_protocol::limit::steps::{Debit, Debited, Level};

fn narrow() -> Level {
    Level::new("narrow", rate(1, 60_000, 1), &[])
}

fn wide() -> Level {
    Level::new("wide", rate(10, 1_000, 10), &[])
}

/// The tokens of the other levels stay, whichever level refuses.
// shows: M2, hazard LI2, limit::Limit
pub async fn refused_call_takes_tokens_of_no_level(rig: &Rig) -> Result<()> {
    let subject = rig.subject();
    let ask = async |levels: Vec<Level>, tokens: u32| {
        rig.limits.run(&subject, &Debit { tokens, wait_ms_max: 0, levels }).await
    };
    let orders: [[fn() -> Level; 2]; 2] = [[narrow, wide], [wide, narrow]];
    for order in orders {
        let both = || order.iter().map(|level| level()).collect::<Vec<_>>();
        assert!(!ask(both(), 1).await?.is_refused());
        for _ in 0..20 {
            assert!(ask(both(), 1).await?.is_refused());
        }
        assert_eq!(ask(vec![wide()], 9).await?, Debited::Admitted { wait_ms: 0, remaining: 0 });
        rig.time.advance(60_000).await?;
        ask(vec![wide()], 10).await?;
        for _ in 0..20 {
            assert!(ask(both(), 1).await?.is_refused());
        }
        assert_eq!(ask(vec![narrow()], 1).await?, Debited::Admitted { wait_ms: 0, remaining: 0 });
        rig.time.advance(60_000).await?;
    }
    Ok(())
}

/// Its time is the one after which the call would be admitted.
// shows: M4
pub async fn refusal_names_the_level_with_the_longest_wait(rig: &Rig) -> Result<()> {
    let quotas = [rate(1, 1_000, 1), rate(1, 5_000, 1), rate(1, 3_000, 1)];
    assert!(!rig.debit(&quotas, 1, 0).await?.is_refused());
    assert_eq!(rig.debit(&quotas, 1, 0).await?, Debited::Refused { retry_after_ms: 5_000, level: 1 });
    rig.time.advance(4_999).await?;
    assert_eq!(rig.debit(&quotas, 1, 0).await?, Debited::Refused { retry_after_ms: 1, level: 1 });
    rig.time.advance(1).await?;
    assert!(!rig.debit(&quotas, 1, 0).await?.is_refused());
    Ok(())
}

/// A call that waits for one level uses the others when it runs. If they were debited when it asked, their tokens would be refilled until then, and be
/// admitted again at the same time.
// shows: M2, hazard LI3, limit::Limit::acquire
pub async fn levels_are_debited_for_the_time_of_execution(rig: &Rig) -> Result<()> {
    let (shared, own) = (rate(10, 1_000, 2), rate(1, 1_000, 1));
    for wait_ms in [0, 1_000] {
        let reserved = rig.debit(&[shared, own], 1, 1_000).await?;
        assert!(matches!(reserved, Debited::Admitted { wait_ms: wait, .. } if wait == wait_ms), "{reserved:?}");
    }
    rig.time.advance(1_000).await?;
    assert_eq!(rig.take(shared, 1).await?, 0, "the reserved call runs now: a burst of two");
    assert_eq!(rig.refused(shared, 1).await?, 100);
    // The same for a window.
    rig.time.advance(60_000).await?;
    let (shared, own) = (window(2, 1_000), rate(1, 2_000, 1));
    for _ in 0..2 {
        assert!(!rig.debit(&[shared, own], 1, 2_000).await?.is_refused());
    }
    rig.time.advance(2_000).await?;
    assert_eq!(rig.take(shared, 1).await?, 0);
    rig.refused(shared, 1).await?;
    Ok(())
}

/// The bucket of a key belongs to its tenant.
// shows: M2
pub async fn subjects_nest(rig: &Rig) -> Result<()> {
    let (tenant, key) = (rate(100, 1_000, 100), rate(1, 60_000, 1));
    let ask = async |first: &str, second: &str| {
        let levels = vec![Level::new("tenant", tenant, &[]), Level::new("key", key, &[second])];
        let subject = rig.limits.subject("api", first);
        rig.limits.run(&subject, &Debit { tokens: 1, wait_ms_max: 0, levels }).await
    };
    assert!(!ask("acme", "7").await?.is_refused());
    assert!(ask("acme", "7").await?.is_refused());
    assert!(!ask("acme", "8").await?.is_refused());
    assert!(!ask("umbrella", "7").await?.is_refused());
    Ok(())
}

/// The tokens left are those of the level that has the fewest.
pub async fn remaining_is_that_of_the_smallest_level(rig: &Rig) -> Result<()> {
    let quotas = [rate(10, 1_000, 10), window(6, 1_000), rate(1, 1_000, 8)];
    assert_eq!(rig.debit(&quotas, 2, 0).await?, Debited::Admitted { wait_ms: 0, remaining: 4 });
    assert_eq!(rig.debit(&quotas, 4, 0).await?, Debited::Admitted { wait_ms: 0, remaining: 0 });
    Ok(())
}
