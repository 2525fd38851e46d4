//! The pools' conformance suite on the model, which is the embedded backend.

use testkit::conformance::pool::World;

testkit::pool_suite!(World::memory);
