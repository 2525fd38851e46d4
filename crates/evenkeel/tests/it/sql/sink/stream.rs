//! The stream sink's conformance suite on Redis.

use testkit::conformance::stream_sink::World;

testkit::stream_sink_suite!(World::redis);
