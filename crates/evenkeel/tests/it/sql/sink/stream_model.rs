//! The stream sink's conformance suite on the model.

use testkit::conformance::stream_sink::Rig;

testkit::stream_sink_suite!(Rig::memory);
