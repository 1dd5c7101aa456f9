use super::*;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Long enough for a child that is not stuck, however busy the machine is.
const STUCK_SECONDS: libc::c_uint = 60;

/// A fork holds all locks for a moment, also those of other tests.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether `holds` returns true in a child process; a stuck child is killed.
fn in_child(holds: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs only what follows, and leaves without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: without a handler, the signal ends the process.
        unsafe { libc::alarm(STUCK_SECONDS) };
        let status = i32::from(!holds());
        // SAFETY: ends the process.
        unsafe { libc::_exit(status) }
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: `status` is a local variable.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Changes a value in two steps, and reads it, on four threads each, while `act` runs.
fn while_used<const SHARDS: usize>(lock: &ForkLock<(u64, u64), SHARDS>, act: impl FnOnce()) {
    let is_over = &AtomicBool::new(false);
    let change = || {
        while !is_over.load(Relaxed) {
            lock.write(|(first, second)| {
                *first += 1;
                thread::yield_now();
                *second += 1;
            });
            lock.read(|(first, second)| assert_eq!(first, second));
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(change);
        }
        act();
        is_over.store(true, Relaxed);
    });
}

fn is_usable<const SHARDS: usize>(lock: &ForkLock<(u64, u64), SHARDS>) -> bool {
    lock.write(|(first, _)| *first += 1);
    lock.read(|(first, second)| *first == second + 1)
}

#[test]
fn a_child_finds_a_lock_free_and_its_value_whole_whatever_other_threads_did() {
    let _turn = turn();
    let (one, many) = (ForkLock::<_, 1>::new((0, 0)), ForkLock::<_, 8>::new((0, 0)));
    let (one, many) = (one.expect("a lock"), many.expect("locks"));
    while_used(&one, || {
        while_used(&many, || {
            for _ in 0..300 {
                assert!(in_child(|| is_usable(&one) && is_usable(&many)));
            }
        });
    });
}

#[test]
fn locks_are_made_and_dropped_in_a_child() {
    let _turn = turn();
    let is_over = &AtomicBool::new(false);
    let make = || ForkLock::<_, 4>::new((0, 0)).expect("locks");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    drop(make())
                }
            });
        }
        for _ in 0..300 {
            assert!(in_child(|| is_usable(&make()) && is_usable(&make())));
        }
        is_over.store(true, Relaxed);
    });
}

#[test]
fn each_child_is_of_another_generation() {
    let _turn = turn();
    let lock = ForkLock::<_, 1>::new(()).expect("a lock");
    let own = generation();
    assert!(in_child(|| {
        let child = generation();
        child != own && in_child(|| generation() != child && generation() != own)
    }));
    assert_eq!(generation(), own);
    drop(lock);
}

#[test]
fn a_lock_that_is_used_again_does_not_know_of_a_panic() {
    for _ in 0..3 {
        let lock = ForkLock::<_, 3>::new(7).expect("locks");
        assert!(!lock.is_poisoned());
        let panic = thread::scope(|scope| scope.spawn(|| lock.write(|_| panic!())).join());
        assert!(panic.is_err() && lock.is_poisoned());
        assert_eq!(lock.read(|number| *number), 7);
    }
}

#[test]
fn a_value_that_another_thread_has_is_not_waited_for() {
    let _turn = turn();
    let lock = ForkLock::<_, 1>::new(7).expect("a lock");
    let attempt = || {
        thread::scope(|scope| {
            let reads = || lock.try_read(|number| *number).ok();
            let writes = || lock.try_write(|number| *number).ok();
            let (reads, writes) = (scope.spawn(reads).join(), scope.spawn(writes).join());
            (reads.expect("no panic"), writes.expect("no panic"))
        })
    };
    assert_eq!(attempt(), (Some(7), Some(7)));
    assert_eq!(lock.read(|_| attempt()), (Some(7), None));
    assert_eq!(lock.write(|_| attempt()), (None, None));
}
