//! A reply as it came over the wire, in RESP2 or RESP3, and a one-line notation for it.
//!
//! | on the wire         | in the notation |
//! |---------------------|-----------------|
//! | simple string       | `+OK`           |
//! | error               | `-ERR text`     |
//! | integer             | `:1`            |
//! | bulk string         | `$bytes`        |
//! | any kind of null    | `_`             |
//! | boolean             | `#t`, `#f`      |
//! | double              | `,0.01`         |
//! | array, set, push    | `[:1, :0]`      |
//! | map                 | `{+a: :1}`      |

use std::fmt;
use std::io::{self, BufRead, Error, ErrorKind};

#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Simple(String),
    Error(String),
    Integer(i64),
    Double(f64),
    Boolean(bool),
    Null,
    Bulk(Vec<u8>),
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
}

impl Reply {
    pub fn read(source: &mut impl BufRead) -> io::Result<Reply> {
        let line = read_line(source)?;
        let (kind, rest) = line.split_at(1);
        match kind {
            "+" => Ok(Reply::Simple(rest.to_owned())),
            "-" => Ok(Reply::Error(rest.to_owned())),
            ":" => Ok(Reply::Integer(number(rest)?)),
            "," => Ok(Reply::Double(rest.parse().map_err(|_| invalid(&line))?)),
            "#" => Ok(Reply::Boolean(rest == "t")),
            "_" => Ok(Reply::Null),
            "$" | "=" => read_bulk(source, number(rest)?),
            "*" | "~" | ">" => read_array(source, number(rest)?),
            "%" => read_map(source, number(rest)?),
            _ => Err(invalid(&line)),
        }
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    pub fn integer(&self) -> i64 {
        match self {
            Reply::Integer(value) => *value,
            Reply::Boolean(value) => i64::from(*value),
            other => panic!("expected an integer: {other}"),
        }
    }

    /// A double, or a bulk string that contains one, as in RESP2.
    pub fn double(&self) -> f64 {
        match self {
            Reply::Double(value) => *value,
            other => {
                let text = other.text();
                text.parse().unwrap_or_else(|_| panic!("expected a double: {other}"))
            }
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Reply::Bulk(bytes) => bytes,
            Reply::Simple(text) => text.as_bytes(),
            other => panic!("expected a string: {other}"),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    pub fn elements(&self) -> &[Reply] {
        match self {
            Reply::Array(elements) => elements,
            other => panic!("expected an array: {other}"),
        }
    }

    /// Names and values of a map, or of the flat array that represents one in RESP2.
    pub fn pairs(&self) -> Vec<(String, Reply)> {
        match self {
            Reply::Map(pairs) => {
                pairs.iter().map(|(name, value)| (name.text(), value.clone())).collect()
            }
            other => {
                other.elements().chunks(2).map(|pair| (pair[0].text(), pair[1].clone())).collect()
            }
        }
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Reply {
        let found = self.pairs().into_iter().find(|(candidate, _)| candidate == name);
        found.unwrap_or_else(|| panic!("no field {name:?} in {self}")).1
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Simple(text) => write!(out, "+{text}"),
            Reply::Error(text) => write!(out, "-{text}"),
            Reply::Integer(value) => write!(out, ":{value}"),
            Reply::Double(value) => write!(out, ",{value}"),
            Reply::Boolean(value) => write!(out, "#{}", if *value { 't' } else { 'f' }),
            Reply::Null => write!(out, "_"),
            Reply::Bulk(bytes) => write!(out, "${}", bytes.escape_ascii()),
            Reply::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Reply::to_string).collect();
                write!(out, "[{}]", elements.join(", "))
            }
            Reply::Map(pairs) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                write!(out, "{{{}}}", pairs.join(", "))
            }
        }
    }
}

fn read_line(source: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    source.read_until(b'\n', &mut line)?;
    if line.len() < 3 || !line.ends_with(b"\r\n") {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
    }
    line.truncate(line.len() - 2);
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn read_bulk(source: &mut impl BufRead, length: i64) -> io::Result<Reply> {
    let Ok(length) = usize::try_from(length) else {
        return Ok(Reply::Null);
    };
    let mut bytes = vec![0; length + 2];
    source.read_exact(&mut bytes)?;
    bytes.truncate(length);
    Ok(Reply::Bulk(bytes))
}

fn read_array(source: &mut impl BufRead, length: i64) -> io::Result<Reply> {
    if length < 0 {
        return Ok(Reply::Null);
    }
    let elements: io::Result<Vec<Reply>> = (0..length).map(|_| Reply::read(source)).collect();
    elements.map(Reply::Array)
}

fn read_map(source: &mut impl BufRead, length: i64) -> io::Result<Reply> {
    let pairs: io::Result<Vec<_>> =
        (0..length).map(|_| Ok((Reply::read(source)?, Reply::read(source)?))).collect();
    pairs.map(Reply::Map)
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| invalid(text))
}

fn invalid(line: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("not a reply: {line:?}"))
}
