//! The streams' conformance suite on Redis.

use testkit::conformance::stream::Rig;

testkit::stream_suite!(Rig::redis);
