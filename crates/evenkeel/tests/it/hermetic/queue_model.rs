//! The queue's conformance suite on the model, which is the embedded backend.

use testkit::conformance::queue::World;

testkit::queue_suite!(World::memory);
