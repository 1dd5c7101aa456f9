//! A network link between two servers that can be cut: a relay on a port of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

/// Bytes relayed at a time: the usual size of a socket buffer, so that a cut can fall anywhere in a
/// larger message.
const PORTION: usize = 16 << 10;

/// No cut is pending.
const UNLIMITED: i64 = i64::MAX;

/// What sees each portion, and may change it, before it goes on.
type Hook = Box<dyn FnMut(&mut [u8]) + Send>;

pub struct Link {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    target: u16,
    open: Mutex<Vec<TcpStream>>,
    /// For the data to the target, and for the data from there.
    hooks: [Mutex<Hook>; 2],
    /// Bytes from the target that still pass before the cut.
    allowance: AtomicI64,
    cuts: AtomicU64,
    /// The next cut breaks the link.
    breaks: AtomicBool,
    is_broken: AtomicBool,
    is_gone: AtomicBool,
}

impl Link {
    /// A link to a server on a local port.
    pub fn to(target: u16) -> Link {
        Link::changing(target, |_| (), |_| ())
    }

    /// The same, with something that sees, and may change, what goes to the server and what comes
    /// from there.
    pub fn changing(
        target: u16,
        upwards: impl FnMut(&mut [u8]) + Send + 'static,
        downwards: impl FnMut(&mut [u8]) + Send + 'static,
    ) -> Link {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let shared = Arc::new(Shared {
            target,
            open: Mutex::default(),
            hooks: [Mutex::new(Box::new(upwards)), Mutex::new(Box::new(downwards))],
            allowance: AtomicI64::new(UNLIMITED),
            cuts: AtomicU64::new(0),
            breaks: AtomicBool::new(false),
            is_broken: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
        });
        let link = Link {
            port: listener.local_addr().expect("an address").port(),
            shared: shared.clone(),
        };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.is_gone.load(SeqCst) {
                    return;
                }
                shared.connect(client);
            }
        });
        link
    }

    /// The port that leads to the target.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts every connection once this many more bytes have come from the target; all of them are
    /// delivered.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.allowance.store(bytes as i64, SeqCst);
    }

    /// Like [`Link::cut_after`], and then refuses connections until [`Link::repair`].
    pub fn break_after(&self, bytes: u64) {
        self.shared.breaks.store(true, SeqCst);
        self.cut_after(bytes);
    }

    /// Cuts every connection now. New ones are accepted.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Lets everything through again, after a break or before a pending cut.
    pub fn repair(&self) {
        self.shared.breaks.store(false, SeqCst);
        self.shared.is_broken.store(false, SeqCst);
        self.shared.allowance.store(UNLIMITED, SeqCst);
    }

    /// How often the link was cut.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(SeqCst)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.is_gone.store(true, SeqCst);
        self.shared.cut();
        // Wakes the listener thread, which then exits.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn connect(self: &Arc<Shared>, client: TcpStream) {
        if self.is_broken.load(SeqCst) {
            return; // the client sees a closed connection
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.target)) else {
            return; // likewise
        };
        let ends = [(&client, &server), (&server, &client)].map(|(from, to)| {
            let handle = |stream: &TcpStream| stream.try_clone().expect("a second handle");
            (handle(from), handle(to))
        });
        let mut open = self.open.lock().expect("no thread panics with the lock held");
        open.extend([client, server]);
        drop(open);
        let [upwards, downwards] = ends;
        let shared = self.clone();
        thread::spawn(move || shared.relay(upwards, false));
        let shared = self.clone();
        thread::spawn(move || shared.relay(downwards, true));
    }

    /// Forwards data until either end closes.
    fn relay(&self, (mut from, mut to): (TcpStream, TcpStream), is_metered: bool) {
        let mut portion = vec![0; PORTION];
        while let Ok(length @ 1..) = from.read(&mut portion) {
            let left = if is_metered { self.take(length) } else { UNLIMITED };
            let passed = &mut portion[..length.min(left.max(0) as usize)];
            let hook = &self.hooks[usize::from(is_metered)];
            hook.lock().expect("no thread panics with the lock held")(passed);
            if to.write_all(passed).is_err() {
                break;
            }
            if left <= length as i64 {
                self.cut();
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }

    /// Takes bytes from the allowance; returns what it was before.
    fn take(&self, bytes: usize) -> i64 {
        match self.allowance.load(SeqCst) {
            UNLIMITED => UNLIMITED,
            _ => self.allowance.fetch_sub(bytes as i64, SeqCst),
        }
    }

    fn cut(&self) {
        self.allowance.store(UNLIMITED, SeqCst);
        if self.breaks.swap(false, SeqCst) {
            self.is_broken.store(true, SeqCst);
        }
        let mut open = self.open.lock().expect("no thread panics with the lock held");
        for stream in open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.cuts.fetch_add(1, SeqCst);
    }
}
