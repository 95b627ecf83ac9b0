"""certs.py - certificates that `tombola pki` would not issue: expired, not yet valid, of the wrong role, self-signed."""
import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)
USAGE = {"client": [ExtendedKeyUsageOID.CLIENT_AUTH], "analyzer": [ExtendedKeyUsageOID.CLIENT_AUTH],
         "shuffler": [ExtendedKeyUsageOID.SERVER_AUTH]}


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def write(path, data, mode=0o600):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as f:
        f.write(data)
    return path


def write_pair(folder, stem, cert, key):
    """(certificate file, key file)."""
    return (write(os.path.join(folder, stem + ".crt"), cert.public_bytes(serialization.Encoding.PEM)),
            write(os.path.join(folder, stem + ".key"), key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())))


def authority(folder, stem="ca", cn="some other CA"):
    """A CA of our own: (certificate, key), and its files in folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.utcnow()
    cert = (x509.CertificateBuilder().subject_name(name(cn)).issuer_name(name(cn)).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(now + 99 * DAY)
            .add_extension(x509.BasicConstraints(True, 0), True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .sign(key, hashes.SHA256()))
    write_pair(folder, stem, cert, key)
    return cert, key


def load_authority(folder):
    with open(os.path.join(folder, "ca.crt"), "rb") as f:
        cert = x509.load_pem_x509_certificate(f.read())
    with open(os.path.join(folder, "ca.key"), "rb") as f:
        return cert, serialization.load_pem_private_key(f.read(), None)


def issue(folder, stem, role, ca=None, days=(-1, 90), usage=None, devices=1000, hosts=True, cn=None):
    """A certificate with the given faults; ca None is self-signed, role None claims none.  (certificate, key) files."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.utcnow()
    subject = name(cn or stem)
    names = [x509.UniformResourceIdentifier(f"tombola:role:{role}")] if role else []
    if role == "client":
        names.append(x509.UniformResourceIdentifier(f"tombola:devices:{devices}"))
    if hosts:
        names += [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    cert = (x509.CertificateBuilder().subject_name(subject).issuer_name(ca[0].subject if ca else subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + days[0] * DAY).not_valid_after(now + days[1] * DAY)
            .add_extension(x509.BasicConstraints(False, None), True)
            .add_extension(x509.ExtendedKeyUsage(usage or USAGE[role or "client"]), False)
            .add_extension(x509.SubjectAlternativeName(names), False)
            .sign(ca[1] if ca else key, hashes.SHA256()))
    return write_pair(folder, stem, cert, key)
