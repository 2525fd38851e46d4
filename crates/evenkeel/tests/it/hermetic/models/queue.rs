//! The queue's conformance suite on the model, which is the embedded backend.

use testkit::conformance::queue::Rig;

testkit::queue_suite!(Rig::memory);
