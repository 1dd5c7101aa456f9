//! Owners of a shared value on several threads, for ThreadSanitizer (`scripts/sanitize`). The
//! standard library's threads are not instrumented, so their synchronization would look like races;
//! hence a single file that calls `pthread_create`.

#[path = "../../crates/foundation/src/shared.rs"]
mod shared;

use shared::Shared;
use std::ffi::c_void;

const ROUNDS: u64 = 2000;
const WORDS: usize = 8;

extern "C" {
    fn pthread_create(
        thread: *mut u64,
        attributes: *const c_void,
        run: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: u64, result: *mut *mut c_void) -> i32;
}

/// Reads the value, clones the owner, and drops both; the last owner frees the value. A sole owner
/// writes to it first, as a filter does once its copy is gone.
extern "C" fn own(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `main` passes on a box of this type, once.
    let owner: Shared<Vec<u64>> = *unsafe { Box::from_raw(argument.cast()) };
    let second = owner.clone();
    let sum: u64 = second.iter().sum();
    drop(second);
    if let Ok(mut own) = owner.try_into_inner() {
        own.iter_mut().for_each(|word| *word += sum);
        std::hint::black_box(own);
    }
    std::ptr::null_mut()
}

fn main() {
    for round in 0..ROUNDS {
        let Ok(first) = Shared::try_new(vec![round; WORDS]) else {
            return;
        };
        let owners = [first.clone(), first.clone(), first];
        let threads = owners.map(|owner| {
            let (mut thread, argument) = (0, Box::into_raw(Box::new(owner)));
            // SAFETY: only `own` gets the box.
            let error =
                unsafe { pthread_create(&mut thread, std::ptr::null(), own, argument.cast()) };
            assert_eq!(error, 0);
            thread
        });
        for thread in threads {
            // SAFETY: created above, joined once.
            unsafe { pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}
