//! The streams' conformance suite on the model.

use testkit::conformance::stream::Rig;

testkit::stream_suite!(Rig::memory);
