//! A server for one test: started with the module, checked at the end, and removed.

use crate::paths::{module_path, server_path, sketch_module_path};
use crate::process::{Folder, Process};
use crate::{eventually, Connection, Dialect, Port};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::panicking;

/// Settings of every server. The port, the module and the test's own lines are added.
const SETTINGS: &str = "\
bind 127.0.0.1
save \"\"
enable-debug-command yes
enable-module-command yes
repl-diskless-sync-delay 0
";

/// Makes a replica exit instead of logging an error, on servers that have the setting.
const PANIC_ON_PROPAGATION_ERROR: &str = "propagation-error-behavior panic\n";

/// How a server differs from the default.
#[derive(Clone, Default)]
pub struct Options {
    /// The module's arguments.
    pub module_arguments: String,
    /// Lines in the server's configuration.
    pub settings: Vec<String>,
    /// Run the server without the module.
    pub without_module: bool,
    /// Another build of the module than the one under test.
    pub module: Option<PathBuf>,
    /// Load the module for sketches, too.
    pub with_sketches: bool,
    /// Another server than the one under test.
    pub executable: Option<PathBuf>,
    /// The test provokes panics, so the module may catch some.
    pub provokes_panics: bool,
    /// The test provokes errors in replays, of which the server must not die.
    pub provokes_replay_errors: bool,
    /// The server is a cluster node, with its bus on a free port.
    pub is_node: bool,
}

impl Options {
    pub fn settings(lines: &[&str]) -> Options {
        Options::default().and_settings(lines)
    }

    /// With these lines, too.
    pub fn and_settings(mut self, lines: &[&str]) -> Options {
        self.settings.extend(lines.iter().map(|line| line.to_string()));
        self
    }

    /// Whether the server must have caught no panic.
    fn counts_panics(&self) -> bool {
        !self.without_module && !self.provokes_panics && self.executable.is_none()
    }

    fn executable(&self) -> PathBuf {
        self.executable.clone().unwrap_or_else(server_path)
    }
}

/// With `appendfsync no` every command that has been answered is in the file; otherwise writing may
/// wait for the disk.
pub const APPEND_ONLY: [&str; 3] =
    ["appendonly yes", "appendfsync no", "auto-aof-rewrite-percentage 0"];

/// Other defaults and a limit that every filter exceeds: a replica must apply neither.
pub const OTHER_SETTINGS: [&str; 4] =
    ["bf.error-rate 0.2", "bf.initial-size 7", "bf.expansion-factor 4", "bf.max-filter-bytes 1"];

pub struct Server {
    // Dropped in this order: first the process, then its folder.
    process: Process,
    folder: Folder,
    port: Port,
    bus_port: Port,
    options: Options,
    /// It has been stopped and not restarted.
    is_down: bool,
}

impl Server {
    pub fn start() -> Server {
        Server::with(Options::default())
    }

    /// A server with additional configuration lines.
    pub fn configured(lines: &[&str]) -> Server {
        Server::with(Options::settings(lines))
    }

    /// A server with additional configuration lines and the module for sketches beside the other.
    pub fn with_sketches(lines: &[&str]) -> Server {
        Server::with(Options { with_sketches: true, ..Options::settings(lines) })
    }

    /// A server with additional lines, and no false positive by chance: until it restarts, the
    /// error rate of filters that are created without one is so low.
    pub fn strict(lines: &[&str]) -> Server {
        let server = Server::configured(lines);
        let counting = server.dialect().spelled("cf.error-rate");
        let rate = "0.000001";
        server.connect().run(&format!("CONFIG SET bf.error-rate {rate} {counting} {rate}"));
        server
    }

    pub fn with(options: Options) -> Server {
        let must_die = options.executable.is_none() && !options.provokes_replay_errors;
        Server::try_start(&options, must_die && knows_panic_setting())
            .unwrap_or_else(|log| panic!("the server does not start:\n{log}"))
    }

    /// The log of a server that must not start with these options.
    pub fn refusal(options: Options) -> String {
        let refused = Server::try_start(&options, knows_panic_setting());
        refused.err().expect("a server that does not start")
    }

    fn try_start(options: &Options, dies_of_propagation_errors: bool) -> Result<Server, String> {
        let folder = Folder::fresh();
        let port = || Port::free().expect("a free port");
        let (port, bus_port) = (port(), port());
        let mut configuration = configuration(port.number(), options, dies_of_propagation_errors);
        if options.is_node {
            let bus_port = bus_port.number();
            configuration += &format!("cluster-enabled yes\ncluster-port {bus_port}\n");
        }
        fs::write(folder.configuration(), configuration).expect("the folder is writable");
        let mut process = Process::launch(&options.executable(), &folder, None);
        if !comes_up(&mut process, port.number()) {
            return Err(folder.tail_of_log());
        }
        let options = options.clone();
        Ok(Server { process, folder, port, bus_port, options, is_down: false })
    }

    /// A replica of this server that has caught up with it.
    pub fn replica(&self, lines: &[&str]) -> Server {
        self.replica_through(self.port(), lines)
    }

    /// A replica that reaches this server through another port.
    pub fn replica_through(&self, port: u16, lines: &[&str]) -> Server {
        let mut options = Options::settings(lines);
        options.with_sketches = self.options.with_sketches;
        options.settings.push(format!("replicaof 127.0.0.1 {port}"));
        let replica = Server::with(options);
        self.wait_for(&replica);
        replica
    }

    /// Waits until the replica has caught up with this server.
    pub fn wait_for(&self, replica: &Server) {
        let mut here = self.connect();
        let mut there = replica.connect();
        eventually("the replica catches up", || {
            there.info("replication", "master_link_status") == "up"
                && here.info("replication", "master_repl_offset")
                    == there.info("replication", "slave_repl_offset")
        });
    }

    /// The server, and a client of it.
    pub fn with_client(self) -> (Server, Connection) {
        let db = self.connect();
        (self, db)
    }

    /// Checks that both hold the same once the replica has caught up. Returns their digest.
    pub fn assert_equal(&self, replica: &Server) -> String {
        self.wait_for(replica);
        let digest = self.connect().digest_of_everything();
        assert_eq!(replica.connect().digest_of_everything(), digest);
        digest
    }

    /// The last line of the log that contains these words.
    pub fn logged(&self, words: &str) -> String {
        let log = self.log();
        let line = log.lines().rfind(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("no {words:?} in {log}")).to_owned()
    }

    /// The lines of the log about errors, in lower case. Names of settings with that word do not
    /// count.
    pub fn errors_logged(&self) -> Vec<String> {
        let log = self.log().to_lowercase().replace("error-rate", "");
        let is_bad = |line: &&str| line.contains("error") || line.contains("critical");
        log.lines().filter(is_bad).map(str::to_owned).collect()
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.port()).unwrap_or_else(|error| {
            panic!("no connection: {error}; end of the log:\n{}", self.folder.tail_of_log())
        })
    }

    /// A connection that speaks RESP3.
    pub fn connect_resp3(&self) -> Connection {
        let mut db = self.connect();
        db.run("HELLO 3");
        db
    }

    /// Sends commands to the server, emptied before, in each protocol, and checks their replies.
    /// The replies are written as in RESP3, and translated for RESP2.
    pub fn converse(&self, lines: &[(&str, &str)]) {
        for (mut db, has_resp3) in [(self.connect(), false), (self.connect_resp3(), true)] {
            db.run("FLUSHALL");
            for (command, reply) in lines {
                let expected = if has_resp3 { reply.to_string() } else { in_resp2(reply) };
                assert_eq!(db.ask(command), expected, "{command}");
            }
        }
    }

    /// The memory in use, measured from a new connection, whose buffers are small, once no other is
    /// open and lazy freeing is done.
    pub fn used_memory(&self) -> i64 {
        let mut db = self.connect();
        eventually("other connections are closed and lazy freeing is done", || {
            db.info("clients", "connected_clients") == "1"
                && db.info("memory", "lazyfree_pending_objects") == "0"
        });
        db.info_number("memory", "used_memory")
    }

    pub fn dialect(&self) -> Dialect {
        Dialect::of(&mut self.connect())
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The process id.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The port for other nodes of the cluster.
    pub fn bus_port(&self) -> u16 {
        self.bus_port.number()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn log(&self) -> String {
        self.folder.log()
    }

    /// Kills the process and starts it again, with the same folder and configuration file.
    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) {
        self.check_health();
        self.process.kill();
        self.is_down = true;
    }

    /// Stops the process with a SHUTDOWN command.
    pub fn shut_down(&mut self, command: &str) {
        self.check_health();
        // The server answers by closing the connection.
        let _ = self.connect().try_call(command.split_whitespace());
        self.wait_for_exit();
    }

    /// Waits until the process exits.
    pub fn wait_for_exit(&mut self) {
        eventually("the server exits", || self.process.end().is_some());
        self.is_down = true;
    }

    /// Suspends the process with SIGSTOP.
    pub fn pause(&self) {
        self.process.signal(libc::SIGSTOP);
    }

    pub fn resume(&self) {
        self.process.signal(libc::SIGCONT);
    }

    /// Starts a stopped server again, with the same folder and configuration file.
    pub fn start_again(&mut self) {
        let log_before = self.log().len();
        eventually("the port is free again", || {
            self.process = Process::launch(&self.options.executable(), &self.folder, None);
            let up = comes_up(&mut self.process, self.port.number());
            let log = self.log();
            // A saving child may briefly outlive its parent and keep the port.
            let waits_for_port = log[log_before..].contains("Address already in use");
            assert!(up || waits_for_port, "the server does not restart:\n{log}");
            up
        });
        self.is_down = false;
    }

    /// Starts a stopped server that must exit at once: its status, and what it logged.
    pub fn start_in_vain(&mut self) -> (Option<i32>, String) {
        let log_before = self.log().len();
        self.process = Process::launch(&self.options.executable(), &self.folder, None);
        let mut end = None;
        eventually("the server exits", || {
            end = self.process.end();
            end.is_some()
        });
        (end.and_then(|end| end.code()), self.log().split_off(log_before))
    }

    /// What must hold after every test: the process that was started is still running, nothing
    /// crashed, nothing panicked.
    pub fn check_health(&mut self) {
        let end = self.process.end();
        let (log, tail) = (self.log(), self.folder.tail_of_log());
        assert!(end.is_none(), "the server exited: {end:?}; end of the log:\n{tail}");
        assert!(!log.contains("BUG REPORT START"), "a crash report:\n{log}");
        if self.options.counts_panics() {
            assert_eq!(self.connect().info("bf", "bf_caught_panics"), "0", "{tail}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if panicking() {
            let (port, tail) = (self.port(), self.folder.tail_of_log());
            eprintln!("end of the log of the server on port {port}:\n{tail}");
        } else if !self.is_down {
            self.check_health();
        }
    }
}

/// The RESP2 form of a RESP3 reply: integers for booleans, a flat array for a map, strings for the
/// doubles in it.
fn in_resp2(reply: &str) -> String {
    let reply = reply.replace("#t", ":1").replace("#f", ":0");
    match reply.strip_prefix('{').and_then(|map| map.strip_suffix('}')) {
        Some(pairs) => format!("[{}]", pairs.replace(": ,", ", $").replace(": ", ", ")),
        None => reply,
    }
}

/// True when the server answers, false if it exits.
fn comes_up(process: &mut Process, port: u16) -> bool {
    let mut up = false;
    eventually("the server answers or exits", || {
        up = process.answers_on(port);
        up || process.end().is_some()
    });
    up
}

fn configuration(port: u16, options: &Options, dies_of_propagation_errors: bool) -> String {
    let mut lines = format!("port {port}\n{SETTINGS}");
    if dies_of_propagation_errors {
        lines.push_str(PANIC_ON_PROPAGATION_ERROR);
    }
    if !options.without_module {
        let module = options.module.clone().unwrap_or_else(module_path);
        lines.push_str(&format!("loadmodule {} {}\n", module.display(), options.module_arguments));
    }
    if options.with_sketches {
        lines.push_str(&format!("loadmodule {}\n", sketch_module_path().display()));
    }
    lines + &options.settings.join("\n") + "\n"
}

/// Whether a server starts with the setting. It is hidden, so there is no other way to tell.
fn knows_panic_setting() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let plain = Options { without_module: true, ..Options::default() };
    *KNOWN.get_or_init(|| Server::try_start(&plain, true).is_ok())
}
