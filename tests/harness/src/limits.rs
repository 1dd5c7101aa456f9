//! Limits on a running server: address space and file size.

use std::fs;

/// A resource that can be limited.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// Bytes of address space; further allocations fail.
    Memory,
    /// Bytes of a file; it cannot grow further, as if the disk were full.
    FileSize,
}

/// Sets or removes a limit of a process, in bytes.
#[allow(unsafe_code, reason = "a system call")]
pub fn limit(process: u32, resource: Resource, bytes: Option<u64>) {
    let resource = match resource {
        Resource::Memory => libc::RLIMIT_AS,
        Resource::FileSize => libc::RLIMIT_FSIZE,
    };
    let limit = libc::rlimit {
        rlim_cur: bytes.unwrap_or(libc::RLIM_INFINITY),
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the new limit is only read during the call, and no old limit is written.
    let status = unsafe {
        libc::prlimit(process as libc::pid_t, resource, &raw const limit, std::ptr::null_mut())
    };
    assert_eq!(status, 0, "the limit is set: {}", std::io::Error::last_os_error());
}

/// The address space of a process, in bytes.
pub fn address_space(process: u32) -> u64 {
    status(process, "VmSize:")
}

/// The resident memory of a process, in bytes.
pub fn resident(process: u32) -> u64 {
    status(process, "VmRSS:")
}

fn status(process: u32, name: &str) -> u64 {
    let text =
        fs::read_to_string(format!("/proc/{process}/status")).expect("the process is running");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a number of KiB") << 10
}
