//! Errors in tables, none of which changes anything.

use crate::{Connection, Options, Server};

/// A command, in words, and its error.
type Case = (Vec<Vec<u8>>, String);

fn cases(table: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut error = "";
    for line in table.lines().filter(|line| !line.trim_start().starts_with('#')) {
        if !line.starts_with(' ') {
            error = line;
            continue;
        }
        for command in alternatives(line) {
            let words: Vec<Vec<u8>> = command.split_whitespace().map(word).collect();
            let name = String::from_utf8_lossy(&words[0]).to_lowercase();
            cases.push((words, error.replace("NAME", &name)));
        }
    }
    cases
}

/// All lines that `line` stands for.
fn alternatives(line: &str) -> Vec<String> {
    let Some((head, rest)) = line.split_once('<') else {
        return vec![line.to_owned()];
    };
    let (choices, tail) = rest.split_once('>').expect("an end of alternatives");
    let tails = alternatives(tail);
    let all = choices.split('|').flat_map(|choice| {
        let begin = format!("{head}{choice}");
        tails.iter().map(move |tail| format!("{begin}{tail}"))
    });
    all.collect()
}

/// The bytes of a word, in the notation of [`check_errors`].
pub fn word(text: &str) -> Vec<u8> {
    let control = |letter: char| match letter {
        '␡' => '\u{7f}',
        '\u{2400}'..='\u{2420}' => (letter as u8) as char,
        other => other,
    };
    let letters = text.chars().filter(|letter| *letter != '∅').map(control);
    letters.collect::<String>().into_bytes()
}

/// Checks that each command of a table returns its error, and changes nothing.
///
/// Lines with an error are each followed by indented ones with the commands that return it. `<a|b>`
/// stands for either, `NAME` in an error for the command's name, `∅` for an empty word, and the
/// picture of a control character (`␀`) for the character. `#` begins a comment.
pub fn check_errors(options: Options, setup: &[&str], table: &str) {
    // Without syncs, because a write to the file, and its size, would wait for a sync in progress.
    let server = Server::with(options.and_settings(&["appendonly yes", "appendfsync no"]));
    let mut db = server.connect();
    db.run_all(setup);
    let before = Traces::of(&mut db);
    let cases = cases(table);
    let mut wrong = Vec::new();
    for (command, error) in &cases {
        let shown: Vec<_> = command.iter().map(|word| word.escape_ascii().to_string()).collect();
        let reply = db.call(command).to_string();
        if reply != format!("-{error}") {
            wrong.push(format!("{shown:?}\n    returns  {reply}\n    expected -{error}"));
        }
        assert_eq!(Traces::of(&mut db), before, "{shown:?} changed something");
    }
    let (bad, all) = (wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{bad} of {all} are wrong:\n{}", wrong.join("\n"));
}

/// Everything that a failed command could leave behind.
#[derive(Debug, PartialEq)]
pub struct Traces {
    digest: String,
    keys: i64,
    changes: String,
    propagated_bytes: Option<String>,
}

impl Traces {
    pub fn of(db: &mut Connection) -> Traces {
        let persistence = db.run("INFO persistence").text();
        let field =
            |name| persistence.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Traces {
            digest: db.digest_of_everything(),
            keys: db.line("DBSIZE").integer(),
            changes: field("rdb_changes_since_last_save:").expect("a count of changes"),
            propagated_bytes: field("aof_current_size:"),
        }
    }
}
