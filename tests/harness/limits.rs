//! What the system may be told to refuse to a server that runs: address space, and length of files.

use std::fs;

/// What is short.
#[derive(Clone, Copy, Debug)]
pub enum Limited {
    /// Bytes of address space: no memory is to be had beyond.
    Memory,
    /// Bytes of a file: it does not get longer, as if the disk were full.
    Files,
}

/// Limits a process to so many bytes, or takes the limit away.
pub fn limit(process: u32, what: Limited, bytes: Option<u64>) {
    let resource = match what {
        Limited::Memory => libc::RLIMIT_AS,
        Limited::Files => libc::RLIMIT_FSIZE,
    };
    let limit = libc::rlimit {
        rlim_cur: bytes.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the new limit is read during the call, the old one is not asked for.
    let status = unsafe {
        libc::prlimit(
            process as libc::pid_t,
            resource,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(
        status,
        0,
        "the limit is set: {}",
        std::io::Error::last_os_error()
    );
}

/// Bytes of address space that a process has.
pub fn address_space(process: u32) -> u64 {
    status(process, "VmSize:")
}

/// Bytes of memory that a process has touched and holds.
pub fn resident(process: u32) -> u64 {
    status(process, "VmRSS:")
}

fn status(process: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).expect("a process that lives");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number of KiB")
        << 10
}
