//! The stream sink's conformance suite on Redis.

use testkit::conformance::stream_sink::Rig;

testkit::stream_sink_suite!(Rig::redis);
