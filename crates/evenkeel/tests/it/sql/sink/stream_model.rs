//! The stream sink's conformance suite on the model.

use testkit::conformance::stream_sink::World;

testkit::stream_sink_suite!(World::memory);
