//! Tests the wheel with every position and with an end at every moment.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

use super::wheel::{PERIODS, Wheel};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

fn is_ready(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn command_expires_after_its_full_timeout() {
    let wheel = Wheel::default();
    // Starts at every position, so that the wheel wraps around.
    for _ in 0..40 {
        let mut expiry = pin!(wheel.register(|| false).unwrap());
        for _ in 0..PERIODS {
            wheel.turn();
            assert!(!is_ready(expiry.as_mut()));
        }
        wheel.turn();
        assert!(is_ready(expiry.as_mut()));
    }
}

#[test]
fn each_command_has_its_own_timeout() {
    let wheel = Wheel::default();
    let mut early = pin!(wheel.register(|| false).unwrap());
    wheel.turn();
    let mut late = pin!(wheel.register(|| false).unwrap());
    (0..PERIODS).for_each(|_| wheel.turn());
    assert!(is_ready(early.as_mut()) && !is_ready(late.as_mut()));
    wheel.turn();
    assert!(is_ready(late.as_mut()));
}

// shows: L11, hazard BL1
#[test]
fn end_of_the_epoch_wakes_every_registered_command() {
    let wheel = Wheel::default();
    let registered = || wheel.register(|| false).unwrap();
    let (mut waiting, mut begun) = (pin!(registered()), pin!(registered()));
    assert!(!is_ready(waiting.as_mut()));
    wheel.turn();
    let mut later = pin!(registered());
    wheel.end();
    assert!(is_ready(waiting.as_mut()) && is_ready(begun.as_mut()) && is_ready(later.as_mut()));
}

/// The thread of a caller is preempted right after its check.
// shows: L11, hazard BL1
#[test]
fn epoch_that_ends_after_the_check_wakes_the_command() {
    let wheel = Wheel::default();
    let not_yet = || {
        wheel.end();
        false
    };
    assert!(is_ready(pin!(wheel.register(not_yet).unwrap())));
    assert!(wheel.register(|| true).is_none(), "nothing would wake it");
}
