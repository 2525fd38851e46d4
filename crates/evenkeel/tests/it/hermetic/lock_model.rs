//! The locks' conformance suite on the model, which is the embedded backend.

use testkit::conformance::lock::World;

testkit::lock_suite!(World::memory);
