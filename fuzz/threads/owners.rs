//! Owners of a shared value on threads of the system, for ThreadSanitizer (`scripts/sanitize`). The standard library's own threads are not
//! built with it, and what it does between them would look like races; so this is one file, with `pthread_create`.

#[path = "../../src/filter/shared.rs"]
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

/// Reads the value, copies the owner, and gives up both: the last one of all frees the value. Who is the only one writes to it first, as
/// a filter does whose copy is gone.
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
            // SAFETY: the box goes to `own` and to nobody else.
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
