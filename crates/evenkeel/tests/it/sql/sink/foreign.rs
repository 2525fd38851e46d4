//! Another program has put something under the key of a last sequence: the messages of a call are appended once.

use crate::foreign::Neighbor;
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::streams::{Appended, RedisStreams, StreamSteps};
use testkit::conformance::stream_sink::{RULE, ordered, unordered};
use testkit::servers::{Redis, RedisOptions};

/// The call failed after other messages were appended, and was repeated: they were appended again each time.
// shows: hazard A8b
#[tokio::test]
async fn foreign_value_under_a_sequence_is_replaced() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let link = Link::connect(LinkOptions::from_url(&redis.url())?, Clock::system()).await?;
    let streams = RedisStreams::new(link.clone());
    for kind in Neighbor::types() {
        let topic = format!("links{kind}");
        let of_topic = |message| evenkeel::sql::sink::Envelope { topic: topic.clone(), ..message };
        let tag = streams.key(&topic);
        let key = format!("{tag}:last:4:shop:b").into_bytes();
        Neighbor::new(&link, &tag).occupy(&key, "", kind).await?;
        let messages = [unordered("u"), ordered("a", 1), ordered("b", 1), ordered("b", 2)].map(of_topic);
        let replies = streams.append(RULE, &messages).await?;
        assert!(replies.iter().all(|reply| matches!(reply, Appended::Entry(_))), "type {kind}: {replies:?}");
        let again = streams.append(RULE, &messages[1..]).await?;
        assert_eq!(again, [Appended::Seen, Appended::Seen, Appended::Seen], "type {kind}");
    }
    Ok(())
}
