//! The streams' conformance suite on the model.

use testkit::conformance::stream::World;

testkit::stream_suite!(World::memory);
