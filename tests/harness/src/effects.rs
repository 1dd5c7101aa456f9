//! What commands replicate, signal, and whether they break a WATCH, in tables.

use crate::errors::word;
use crate::{commands_in_append_only_file, Connection, Server};

/// Checks what each command of a table does, and what it signals: its own event, that of a filter's
/// creation, that of an expiry. Returns how many commands there are.
///
/// A line has a command, `=>`, and what it replicates: `=` itself, nothing, or other commands,
/// which are a transaction if there are several. Seeds are shown as `…`, and so are the times that
/// the server has given, and a line feed as `␊`. An empty line deletes all keys. `#` begins a
/// comment.
///
/// The server has an append-only file, and notifies of everything.
pub fn check_effects(server: &Server, table: &str) -> usize {
    let (mut db, mut watching) = (server.connect(), server.connect());
    let mut done = 0;
    for row in table.lines() {
        let Some((command, effects)) = row.split_once("=>") else {
            assert!(row.is_empty() || row.starts_with('#'), "{row}");
            if row.is_empty() {
                db.run("FLUSHALL");
            }
            continue;
        };
        let (command, effects) = (command.trim(), effects.trim());
        let words: Vec<&str> = command.split_whitespace().collect();
        let key = words[1];
        let is_missing = db.ask(&format!("EXISTS {key}")) == ":0";
        watching.run(&format!("WATCH {key}"));
        let before = commands_in_append_only_file(server).len();
        let told = events_of(server, |db| drop(db.call(words.iter().copied().map(word))));
        let replicated = commands_in_append_only_file(server).split_off(before);
        let mut replicated: Vec<String> =
            replicated.iter().map(|command| without_seed_and_time(command)).collect();
        // The sweeper may have a step of its own in between.
        replicated.retain(|command| !command.starts_with("BF.FORGET ") && command != END_OF_EVENTS);

        let effects: Vec<&str> = match effects {
            "" => Vec::new(),
            "=" => vec![command],
            several => several.split("; ").collect(),
        };
        let expected = match effects.len() {
            0 | 1 => effects.clone(),
            _ => [&["MULTI"], &effects[..], &["EXEC"]].concat(),
        };
        assert_eq!(replicated, expected, "{command}");

        let own = (!effects.is_empty()).then(|| event_of(words[0]));
        let is_new = is_missing && own.is_some();
        let family = words[0].to_lowercase();
        let is_of_filters = family.starts_with("bf.") || family.starts_with("cf.");
        let creation = (is_new && is_of_filters).then(|| format!("{}.reserve", &family[..2]));
        let expires = effects.iter().any(|effect| effect.starts_with("PEXPIREAT"));
        let expiry = expires.then(|| "expire".to_owned());
        let own = own.filter(|own| creation.as_ref() != Some(own));
        let events = [creation, expiry, own].into_iter().flatten();
        let events: Vec<String> = events.map(|event| format!("{event} {key}")).collect();
        assert_eq!(told, events, "{command}");

        watching.run("MULTI");
        watching.run("PING");
        let transaction = if effects.is_empty() { "[+PONG]" } else { "_" };
        assert_eq!(watching.ask("EXEC"), transaction, "{command}");
        done += 1;
    }
    done
}

/// The event of a command: with a time it is the same, and all that create a sketch have one.
fn event_of(command: &str) -> String {
    let name = command.to_lowercase();
    match name.split_once("init") {
        Some((family, _)) => format!("{family}init"),
        None => name.strip_suffix("at").unwrap_or(&name).to_owned(),
    }
}

/// What ends the events that are listened to.
const END_OF_EVENTS: &str = "SET end-of-events a";

/// The modules' events, and that of an expiry, as `name key`, while an action runs.
pub fn events_of(server: &Server, action: impl FnOnce(&mut Connection)) -> Vec<String> {
    const OURS: [&str; 6] = ["bf.", "cf.", "cms.", "topk.", "tdigest.", "expire"];
    let mut listener = server.connect();
    listener.run("PSUBSCRIBE __keyevent@0__:*");
    let mut db = server.connect();
    action(&mut db);
    db.run(END_OF_EVENTS);
    let mut events = Vec::new();
    loop {
        let message = listener.receive();
        let channel = message.elements()[2].text();
        let event = channel.strip_prefix("__keyevent@0__:").expect("a channel of events");
        if event == "set" {
            return events;
        }
        if OURS.iter().any(|ours| event.starts_with(ours)) {
            events.push(format!("{event} {}", message.elements()[3].text()));
        }
    }
}

/// Shows a seed of sixteen digits and a time of thirteen as `…`: the seed is random, the time is
/// the server's.
fn without_seed_and_time(command: &str) -> String {
    let command = command.replace('\n', "␊");
    let mut words: Vec<&str> = command.split(' ').collect();
    let is_time = |word: &str| word.len() == 13 && word.bytes().all(|digit| digit.is_ascii_digit());
    let is_seed = |word: &str| word.len() == 16 && word.bytes().all(|it| it.is_ascii_hexdigit());
    for place in 1..words.len() {
        let is_given = match words[place - 1] {
            "AT" => is_time(words[place]),
            "SEED" => is_seed(words[place]),
            _ => words[0].ends_with("AT") && place == 2 && is_time(words[place]),
        };
        if is_given {
            words[place] = "…";
        }
    }
    words.join(" ")
}
