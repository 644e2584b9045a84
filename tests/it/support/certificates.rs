//! An authority of our own, and what it signs, made anew for each test.

use std::{fs, path::Path};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Writes an authority (`ca.pem`), and a certificate of a host with its key (`cert.pem`, `key.pem`): no
/// client takes one that is both.
pub fn write(folder: &Path, host: &str) {
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(folder.join("ca.pem"), authority.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new([host.to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), server.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}
