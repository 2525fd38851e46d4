//! Another program has put a value of another type under a key of a limit.

use crate::foreign::Neighbor;
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use testkit::conformance::limit::{Rig, rate, window};
use testkit::park::redis;

// shows: M2
#[tokio::test]
async fn value_in_place_of_a_bucket_reads_as_a_full_one() -> Result<()> {
    let redis = redis().await?;
    let mut options = LinkOptions::from_url(&redis.url)?;
    options.prefix.clone_from(&redis.prefix);
    let link = Link::connect(options, Clock::system()).await?;
    let rig = Rig::over(link.clone()).await?;
    let tag = rig.subject().tag().to_owned();
    let neighbor = Neighbor::new(&link, &tag);
    for (kind, quota) in [("rate", rate(1, 60_000, 3)), ("window", window(3, 60_000))] {
        let key = format!("{tag}:tenant:{kind}");
        for foreign in Neighbor::types() {
            rig.time.advance(600_000).await?;
            rig.take(quota, 2).await?;
            assert!(neighbor.occupy(key.as_bytes(), "", foreign).await?);
            assert_eq!(rig.take(quota, 1).await?, 2, "{kind}: the debit replaces it");
            assert_eq!(rig.take(quota, 2).await?, 0);
            rig.refused(quota, 1).await?;
            neighbor.give_back(key.as_bytes()).await?;
        }
    }
    Ok(())
}
