//! What one server said: a snapshot, without an opinion.

use super::finding::{Answer, Unknown};
use super::keys::Keys;
use redis::{cmd, from_redis_value, Connection, FromRedisValue, RedisError, Value};
use std::collections::{BTreeMap, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

/// Settings that matter. Servers leave out those that they do not have.
const SETTINGS: &str = "appendonly appendfsync save rdbcompression bgsave-default-method \
    slowlog-log-slower-than slowlog-max-len slowlog-entry-max-string-len protected-mode \
    enable-module-command bf.aof-load-damaged propagation-error-behavior \
    forkless-infrastructure-enabled";

/// What a server said, or why it did not.
#[derive(Debug)]
pub struct Node {
    pub address: String,
    pub info: Answer<Info>,
    pub settings: Answer<BTreeMap<String, String>>,
    /// The commands of modules, and `bless`, with the module of each; `None` is the server.
    pub commands: Answer<BTreeMap<String, Option<String>>>,
    /// A line for each, as in the file of `aclfile`.
    pub users: Answer<Vec<String>>,
    pub slow_log_entries: Answer<u64>,
    pub clock: Answer<Clock>,
    /// The lines of CLUSTER NODES.
    pub cluster_nodes: Answer<String>,
    pub keys: Answer<Keys>,
}

/// How far the clock of a server is ahead of this machine's, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub ahead: i64,
    /// The truth is at most this far away.
    pub uncertainty: i64,
}

/// What INFO said.
#[derive(Debug)]
pub struct Info(pub String);

impl Info {
    /// What follows `prefix` in the first line that begins with it; empty if no line does.
    fn after(&self, prefix: &str) -> &str {
        self.0.lines().find_map(|line| line.strip_prefix(prefix)).unwrap_or_default().trim_end()
    }

    /// The value of the field `name`; empty if INFO lacks it.
    pub fn text(&self, name: &str) -> &str {
        self.after(&format!("{name}:"))
    }

    /// The value of a field that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }

    /// The number that a module gave as its version.
    pub fn module_version(&self, module: &str) -> Option<u64> {
        self.after(&format!("module:name={module},ver=")).split(',').next()?.parse().ok()
    }
}

impl Node {
    /// Queries the server, and changes nothing there.
    pub fn ask(address: String, db: &mut Connection) -> Self {
        let clock = clock(db); // first, while no reply is under way
        let info = ask(db, "INFO", "everything").map(Info);
        let commands = commands(db);
        let is_ours = commands.as_ref().is_ok_and(|commands| commands.contains_key("bf.packadd"));
        let mut node = Self {
            address,
            info,
            settings: ask(db, "CONFIG GET", SETTINGS),
            commands,
            users: ask(db, "ACL LIST", ""),
            slow_log_entries: ask(db, "SLOWLOG LEN", ""),
            clock,
            cluster_nodes: ask(db, "CLUSTER NODES", ""),
            keys: Ok(Keys::default()),
        };
        // A replica has the keys of its primary, which is examined, too.
        if !node.is_replica() {
            node.keys = Keys::scan(db, is_ours);
        }
        node
    }

    /// What tells it from the others, which may have its address elsewhere.
    pub fn identity(&self) -> String {
        match self.info.as_ref().map(|info| info.text("run_id")) {
            Ok("") | Err(_) => self.address.clone(),
            Ok(id) => id.to_owned(),
        }
    }

    /// The value of a setting; empty if it is not known.
    pub fn setting(&self, name: &str) -> &str {
        let settings = self.settings.as_ref().ok();
        settings.and_then(|settings| settings.get(name)).map_or("", String::as_str)
    }

    pub fn is_replica(&self) -> bool {
        self.info.as_ref().is_ok_and(|info| info.text("role") == "slave")
    }

    /// The addresses of its primary, its replicas and the other nodes of its cluster.
    pub fn neighbours(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok(info) = &self.info {
            let [host, port] = ["master_host", "master_port"].map(|name| info.text(name));
            found.extend((!host.is_empty()).then(|| format!("{host}:{port}")));
            found.extend(info.0.lines().filter_map(|line| {
                let (_, replica) = line.strip_prefix("slave")?.split_once(":ip=")?;
                let (host, rest) = replica.split_once(",port=")?;
                Some(format!("{host}:{}", rest.split(',').next()?))
            }));
        }
        let lines = self.cluster_nodes.as_deref().unwrap_or_default().lines();
        found.extend(lines.filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (address, flags) = (words.next()?.split('@').next()?, words.next()?);
            let is_elsewhere = !flags.contains("myself") && !flags.contains("noaddr");
            is_elsewhere.then(|| address.to_owned())
        }));
        found
    }
}

/// The reply to a command with these words after it.
fn ask<T: FromRedisValue>(db: &mut Connection, command: &str, words: &str) -> Answer<T> {
    let mut all = command.split_whitespace().chain(words.split_whitespace());
    let reply = cmd(all.next().unwrap_or_default()).arg(all.collect::<Vec<_>>()).query(db);
    reply.map_err(|error| unknown(command, &error))
}

/// Why the reply to a command is not known.
pub fn unknown(command: &str, error: &RedisError) -> Unknown {
    let refusal = match error.code() {
        Some(code) => {
            let text = error.detail().unwrap_or_default();
            // Servers repeat the arguments of a command that they do not know.
            format!("{code} {}", text.split(", with args").next().unwrap_or_default())
        }
        None => error.to_string(),
    };
    Unknown { command: command.into(), refusal }
}

/// Who has each command of a module.
fn commands(db: &mut Connection) -> Answer<BTreeMap<String, Option<String>>> {
    let names: Vec<String> = ask(db, "COMMAND LIST", "FILTERBY PATTERN *.*")?;
    Ok(owners(ask(db, "COMMAND DOCS bless", &names.join(" "))?))
}

/// The owner of each command, by the command's name in lower case: those of valkey-bloom are in
/// capitals.
fn owners(docs: HashMap<String, HashMap<String, Value>>) -> BTreeMap<String, Option<String>> {
    let owner =
        |mut fields: HashMap<String, Value>| from_redis_value(fields.remove("module")?).ok();
    docs.into_iter().map(|(name, fields)| (name.to_lowercase(), owner(fields))).collect()
}

fn clock(db: &mut Connection) -> Answer<Clock> {
    let now =
        || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64;
    let before = now();
    let (seconds, microseconds): (i64, i64) = ask(db, "TIME", "")?;
    let (after, there) = (now(), seconds * 1000 + microseconds / 1000);
    let uncertainty = (after - before) / 2;
    Ok(Clock { ahead: there - before - uncertainty, uncertainty: uncertainty + 1 })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A server that said nothing.
    pub fn silent() -> Node {
        fn none<T>() -> Answer<T> {
            let refusal = "NOPERM User x has no permissions".into();
            Err(Unknown { command: "CONFIG GET".into(), refusal })
        }
        Node {
            address: "a:1".into(),
            info: none(),
            settings: none(),
            commands: none(),
            users: none(),
            slow_log_entries: none(),
            clock: none(),
            cluster_nodes: none(),
            keys: none(),
        }
    }

    /// A server with these lines in INFO.
    pub fn with_info(lines: &str) -> Node {
        Node { info: Ok(Info(lines.to_owned())), ..silent() }
    }

    /// A server with these settings: `name value,name value`.
    pub fn with_settings(pairs: &str) -> Node {
        let pairs = pairs.split(',').filter_map(|pair| pair.split_once(' '));
        let fields = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Node { settings: Ok(fields.collect()), ..silent() }
    }

    #[test]
    fn commands_are_known_by_lower_case_names_with_their_modules() {
        let docs = |fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, text)| (name.to_string(), text.as_bytes()));
            fields.map(|(name, text)| (name, Value::BulkString(text.to_vec()))).collect()
        };
        let owners = owners(HashMap::from([
            ("BF.LOAD".into(), docs(&[("module", "bf"), ("group", "module")])),
            ("bless".into(), docs(&[("group", "generic")])),
        ]));
        let of = |command: &str| owners[command].as_deref();
        assert_eq!((of("bf.load"), of("bless")), (Some("bf"), None));
    }

    #[test]
    fn a_server_leads_to_its_primary_its_replicas_and_its_cluster() {
        let mut node = with_info(
            "role:slave\r\nmaster_host:::1\r\nmaster_port:7\r\nconnected_slaves:1\r\n\
             slave0:ip=10.0.0.1,port=8,state=online,offset=1,lag=0\r\n",
        );
        node.cluster_nodes = Ok("i 1.1.1.1:1@2 myself,master - 0\n\
            j 1.1.1.2:1@2,host slave i 0\nk :0@0 master,noaddr - 0\n"
            .into());
        assert_eq!(node.neighbours(), ["::1:7", "10.0.0.1:8", "1.1.1.2:1"]);
        assert_eq!(silent().neighbours(), [""; 0]);
    }
}
