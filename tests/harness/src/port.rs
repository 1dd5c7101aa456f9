//! Ports that no other process gets while a server runs.

use std::io;
use std::net::{TcpListener, TcpStream};

/// A loopback port. Until it is dropped, the system assigns it to no one who requests any free
/// port, because it has an open connection. A server may listen on it nevertheless, be killed and
/// come back, since it sets SO_REUSEADDR, as the listener here did.
pub struct Port {
    number: u16,
    _connection: (TcpStream, TcpStream),
}

impl Port {
    /// # Errors
    /// No port is free.
    pub fn free() -> io::Result<Port> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let connection = (TcpStream::connect(address)?, listener.accept()?.0);
        Ok(Port { number: address.port(), _connection: connection })
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}
