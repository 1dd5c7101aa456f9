//! TLS, with an authority of the test's own.

use crate::tool::{tool, Folder, Runs};
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use splitbloom_harness::{Port, Server};
use std::process::Command;

/// An authority, and certificates that it has signed, in files.
struct Certificates {
    work: Folder,
    authority: String,
    /// Certificate and key.
    server: [String; 2],
    client: [String; 2],
}

fn named(name: &str) -> CertificateParams {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut parameters = CertificateParams::new(names).expect("names of hosts");
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters
}

impl Certificates {
    fn new() -> Self {
        let work = Folder::new();
        let mut parameters = named("authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = parameters.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(parameters, key);
        let signed = |name: &str| {
            let key = KeyPair::generate().expect("a key");
            let certificate: Certificate =
                named(name).signed_by(&key, &issuer).expect("a certificate");
            let file =
                |kind: &str, text: String| work.file(&format!("{name}.{kind}"), text.as_bytes());
            [file("crt", certificate.pem()), file("key", key.serialize_pem())]
        };
        let (server, client) = (signed("server"), signed("client"));
        Self { authority: work.file("ca.crt", authority.pem().as_bytes()), server, client, work }
    }
}

#[test]
fn a_server_is_trusted_for_its_certificate_and_a_client_for_its_own() {
    let certificates = Certificates::new();
    let held = Port::free().expect("a free port");
    let port = held.number();
    let [certificate, key] = &certificates.server;
    let settings = [
        format!("tls-port {port}"),
        format!("tls-cert-file {certificate}"),
        format!("tls-key-file {key}"),
        format!("tls-ca-cert-file {}", certificates.authority),
        "tls-auth-clients yes".to_owned(),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (server, mut db) = Server::configured(&settings).with_client();
    db.run("CONFIG SET requirepass secret");
    let file = certificates.work.file("items", b"a\nb\n");
    let url = format!("rediss://127.0.0.1:{port}");
    let load = |words: &[&str]| -> Command {
        let load = ["load", "seen", &file, "--error=1e-9", "--url", &url];
        let mut command = tool(&[&load, words].concat());
        command.env("SPLITBLOOM_PASSWORD", "secret");
        command
    };
    let [certificate, key] = &certificates.client;
    let own = ["--cert", certificate, "--key", key];
    let trusted = ["--cacert", &certificates.authority];

    assert_eq!(load(&[&own[..], &trusted].concat()).prints(), "2 items, 2 new\n");
    assert_eq!(load(&[&own[..], &["--insecure"]].concat()).prints(), "2 items, 0 new\n");
    // The machine's authorities do not know this one.
    load(&own).error_with(3, "certificate");
    // No client certificate: the server ends the connection.
    let message = load(&trusted).error(3);
    assert!(message.starts_with("no connection to the server"), "{message}");
    let wrong = load(&[&own[..], &trusted].concat()).env("SPLITBLOOM_PASSWORD", "wrong").error(3);
    assert!(wrong.contains("WRONGPASS"), "{wrong}");

    let plain = format!("redis://127.0.0.1:{}", server.port());
    tool(&["load", "seen", "--url", &plain, "--insecure"]).error_with(2, "rediss://");
    load(&["--cacert", &file]).error_with(6, "no certificate");
    let nowhere = certificates.work.path("nowhere");
    load(&["--cacert", &nowhere]).error_with(5, "nowhere");
    // The harness looks at the server afterwards, and knows no password.
    db.run("AUTH secret");
    db.call(["CONFIG", "SET", "requirepass", ""]);
}
