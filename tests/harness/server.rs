//! A server of the test's own: started with the module, asked the standing questions, and cleared away.

use super::process::{Folder, Process};
use super::{eventually, Connection, Dialect};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::panicking;
use std::{env, fs};

/// Another process may take the port between its choice and its use.
const ATTEMPTS: u32 = 5;

/// What every server is given. The port, the module and the test's own lines come after.
const SETTINGS: &str = "\
bind 127.0.0.1
save \"\"
enable-debug-command yes
enable-module-command yes
repl-diskless-sync-delay 0
";

/// A replica that would log an error dies instead, where the server knows the setting.
const PANIC_ON_PROPAGATION_ERROR: &str = "propagation-error-behavior panic\n";

/// How a server differs from the plain one.
#[derive(Clone, Default)]
pub struct Options {
    /// Words after the module's path.
    pub module_arguments: String,
    /// Lines of the server's configuration.
    pub settings: Vec<String>,
    /// The server runs without the module.
    pub without_module: bool,
    /// A build of the module other than the one under test.
    pub module: Option<PathBuf>,
    /// Panics are provoked, so that the module may have caught some.
    pub provokes_panics: bool,
    /// The server is a node of a cluster, with a bus on a free port of its own.
    pub is_node: bool,
}

impl Options {
    pub fn settings(lines: &[&str]) -> Options {
        Options {
            settings: lines.iter().map(|line| line.to_string()).collect(),
            ..Options::default()
        }
    }
}

pub struct Server {
    // Dropped in this order: first the process, then its folder.
    process: Process,
    folder: Folder,
    port: u16,
    bus_port: u16,
    options: Options,
    /// It was killed, and not started again.
    is_down: bool,
}

impl Server {
    pub fn start() -> Server {
        Server::with(Options::default())
    }

    /// A server with further lines of configuration.
    pub fn configured(lines: &[&str]) -> Server {
        Server::with(Options::settings(lines))
    }

    pub fn with(options: Options) -> Server {
        Server::try_start(&options, knows_panic_setting())
            .unwrap_or_else(|log| panic!("no server starts:\n{log}"))
    }

    /// The log, when the server does not start with these options.
    pub fn refusal(options: Options) -> String {
        let refused = Server::try_start(&options, knows_panic_setting());
        refused.err().expect("a server that does not start")
    }

    fn try_start(options: &Options, dies_of_propagation_errors: bool) -> Result<Server, String> {
        let folder = Folder::fresh();
        for _ in 0..ATTEMPTS {
            let (port, bus_port) = (free_port(), free_port());
            let mut configuration = configuration(port, options, dies_of_propagation_errors);
            if options.is_node {
                configuration += &format!("cluster-enabled yes\ncluster-port {bus_port}\n");
            }
            fs::write(folder.configuration(), configuration).expect("the folder can be written");
            let mut process = Process::launch(&folder);
            if comes_up(&mut process, port) {
                return Ok(Server {
                    process,
                    folder,
                    port,
                    bus_port,
                    options: options.clone(),
                    is_down: false,
                });
            }
        }
        Err(folder.tail_of_log())
    }

    /// A replica of this server that has caught up with it.
    pub fn replica(&self, lines: &[&str]) -> Server {
        self.replica_through(self.port, lines)
    }

    /// A replica that reaches this server by another port.
    pub fn replica_through(&self, port: u16, lines: &[&str]) -> Server {
        let mut options = Options::settings(lines);
        options.settings.push(format!("replicaof 127.0.0.1 {port}"));
        let replica = Server::with(options);
        self.wait_for(&replica);
        replica
    }

    /// Returns when the replica has everything that this server has.
    pub fn wait_for(&self, replica: &Server) {
        let mut here = self.connect();
        let mut there = replica.connect();
        eventually("the replica catches up", || {
            there.info("replication", "master_link_status") == "up"
                && here.info("replication", "master_repl_offset")
                    == there.info("replication", "slave_repl_offset")
        });
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.port).unwrap_or_else(|error| {
            panic!(
                "no connection: {error}; the log ends so:\n{}",
                self.folder.tail_of_log()
            )
        })
    }

    /// A connection that speaks RESP3.
    pub fn connect_resp3(&self) -> Connection {
        let mut db = self.connect();
        db.run("HELLO 3");
        db
    }

    pub fn dialect(&self) -> Dialect {
        Dialect::of(&mut self.connect())
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of the process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Where the other nodes of a cluster reach this one.
    pub fn bus_port(&self) -> u16 {
        self.bus_port
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn log(&self) -> String {
        self.folder.log()
    }

    /// Kills the process and starts it again, in the same folder with the same configuration file.
    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Kills the process, with SIGKILL.
    pub fn kill(&mut self) {
        self.ask_standing_questions();
        self.process.kill();
        self.is_down = true;
    }

    /// Ends the process as an operator does, having saved if it is told so.
    pub fn shut_down(&mut self, command: &str) {
        self.ask_standing_questions();
        // The answer is the end of the connection.
        let _ = self.connect().try_call(command.split_whitespace());
        self.wait_for_its_end();
    }

    /// Returns when the process has ended by itself.
    pub fn wait_for_its_end(&mut self) {
        eventually("the server ends", || self.process.end().is_some());
        self.is_down = true;
    }

    /// Stops the process (`SIGSTOP`), which answers nobody until it is resumed.
    pub fn pause(&self) {
        self.process.signal("STOP");
    }

    pub fn resume(&self) {
        self.process.signal("CONT");
    }

    /// Starts it again after a kill, in the same folder with the same configuration file.
    pub fn start_again(&mut self) {
        let log_before = self.log().len();
        eventually("the port is free again", || {
            self.process = Process::launch(&self.folder);
            let up = comes_up(&mut self.process, self.port);
            let log = self.log();
            // A child that was saving may outlive its parent for a moment, and the port with it.
            let waits_for_port = log[log_before..].contains("Address already in use");
            assert!(
                up || waits_for_port,
                "the server does not start again:\n{log}"
            );
            up
        });
        self.is_down = false;
    }

    /// What must hold after every test: the process that was started is still there, nothing crashed, nothing panicked.
    pub fn ask_standing_questions(&mut self) {
        let end = self.process.end();
        assert!(
            end.is_none(),
            "the server died: {end:?}; its log ends so:\n{}",
            self.folder.tail_of_log()
        );
        let log = self.log();
        assert!(!log.contains("BUG REPORT START"), "a crash report:\n{log}");
        if !self.options.without_module && !self.options.provokes_panics {
            assert_eq!(
                self.connect().info("bf", "bf_caught_panics"),
                "0",
                "{}",
                self.folder.tail_of_log()
            );
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if panicking() {
            eprintln!(
                "the log of the server on port {} ends so:\n{}",
                self.port,
                self.folder.tail_of_log()
            );
        } else if !self.is_down {
            self.ask_standing_questions();
        }
    }
}

/// The module under test.
pub fn module_path() -> PathBuf {
    let built_here =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/libsplitbloom.so");
    let path = env::var_os("SPLITBLOOM_MODULE").map_or_else(built_here, PathBuf::from);
    assert!(
        path.is_file(),
        "no module at {}: build it, or name it in SPLITBLOOM_MODULE",
        path.display()
    );
    path
}

/// False when the server refuses its own words; true when it answers.
fn comes_up(process: &mut Process, port: u16) -> bool {
    let mut up = false;
    eventually("the server answers or ends", || {
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
        lines.push_str(&format!(
            "loadmodule {} {}\n",
            module.display(),
            options.module_arguments
        ));
    }
    lines + &options.settings.join("\n") + "\n"
}

/// The setting is a hidden one, so the server itself is asked, once.
fn knows_panic_setting() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let plain = Options {
        without_module: true,
        ..Options::default()
    };
    *KNOWN.get_or_init(|| Server::try_start(&plain, true).is_ok())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}
