//! The streams' conformance suite on Redis.

use testkit::conformance::stream::World;

testkit::stream_suite!(World::redis);
