//! The server that a command talks to.

use crate::error::Error;
use clap::Args;
use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo};
use redis::{IntoConnectionInfo, ProtocolVersion, TlsCertificates};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where the password is if the URL has none. The second is that of redis-cli.
const PASSWORDS: [&str; 2] = ["SPLITBLOOM_PASSWORD", "REDISCLI_AUTH"];

/// Names the server.
#[derive(Args, Clone, Debug)]
pub struct ServerArguments {
    /// The server: redis://user:password@host:port/database, of which only the host is needed,
    /// rediss:// with TLS, or unix:///path. A password is better given in SPLITBLOOM_PASSWORD or
    /// REDISCLI_AUTH, where other users cannot see it
    #[arg(
        long,
        env = "REDIS_URL",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    pub url: String,
    #[command(flatten)]
    pub tls: TlsArguments,
}

impl ServerArguments {
    /// How to connect: by the URL, in RESP3, with the password of the environment if the URL has
    /// none.
    pub fn connection_info(&self) -> Result<ConnectionInfo, Error> {
        self.tls.info_of(&self.url)
    }
}

/// Whom to trust, and who one is, over TLS.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArguments {
    /// Certificates of the authorities to trust, in PEM, instead of those of this machine
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    cacert: Option<PathBuf>,
    /// The certificate to show to the server, in PEM
    #[arg(long, value_name = "FILE", requires = "key_file", help_heading = "TLS")]
    cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long = "key", value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key_file: Option<PathBuf>,
    /// Trusts any certificate: whoever is between here and the server can read everything
    #[arg(long, conflicts_with = "cacert", help_heading = "TLS")]
    insecure: bool,
}

impl TlsArguments {
    /// A connection to one of two servers, of which the other may be without TLS.
    pub fn info_of_one(&self, url: &str) -> Result<ConnectionInfo, Error> {
        match url.starts_with("rediss:") {
            true => self.info_of(url),
            false => connection_info(url),
        }
    }

    /// A connection to a server with other certificates than those of this machine.
    ///
    /// # Errors
    /// Certificates are given for a URL without TLS, or a file cannot be read.
    pub fn info_of(&self, url: &str) -> Result<ConnectionInfo, Error> {
        let info = connection_info(url)?;
        if self.cacert.is_none() && self.cert.is_none() && !self.insecure {
            return Ok(info);
        }
        let ConnectionAddr::TcpTls { host, port, insecure, tls_params } = info.addr().clone()
        else {
            let text = "--cacert, --cert, --key and --insecure need a URL with rediss://";
            return Err(Error::Usage(text.into()));
        };
        let insecure = insecure || self.insecure;
        let info = info.set_addr(ConnectionAddr::TcpTls { host, port, insecure, tls_params });
        let client_tls = match (&self.cert, &self.key_file) {
            (Some(certificate), Some(key)) => Some(ClientTlsConfig {
                client_cert: certificates_in(certificate)?,
                client_key: contents(key)?,
            }),
            _ => None,
        };
        let certificates = TlsCertificates {
            client_tls,
            root_cert: self.cacert.as_deref().map(certificates_in).transpose()?,
        };
        let client = Client::build_with_tls(info, certificates)
            .map_err(|error| Error::Usage(format!("certificates: {error}")))?;
        Ok(client.get_connection_info().clone())
    }
}

/// The contents of a file of certificates. (redis-rs reads any other file as an empty list.)
fn certificates_in(file: &Path) -> Result<Vec<u8>, Error> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let text = contents(file)?;
    match text.windows(BEGIN.len()).any(|part| part == BEGIN) {
        true => Ok(text),
        false => Err(Error::Contents(format!("{}: no certificate in PEM", file.display()))),
    }
}

fn contents(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| Error::file(file, error))
}

/// As [`ServerArguments::connection_info`], for any URL, without [`TlsArguments`].
fn connection_info(url: &str) -> Result<ConnectionInfo, Error> {
    // The URL may contain a password, so the message does not quote it.
    let info = url.into_connection_info().map_err(|error| {
        let why = match url.contains("://") {
            true => error.to_string(),
            false => "it begins with redis://, rediss:// or unix://, as redis://localhost".into(),
        };
        Error::Usage(format!("not the URL of a server: {why}"))
    })?;
    let mut settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    if settings.password().is_none() {
        if let Some(password) = PASSWORDS.iter().find_map(|name| env::var(name).ok()) {
            settings = settings.set_password(password);
        }
    }
    Ok(info.set_redis_settings(settings))
}
