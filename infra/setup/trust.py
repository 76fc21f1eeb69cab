"""Lets Java trust whom this machine's Python trusts, whose packages were fetched a moment before.

A Java from a package knows public certificate authorities only, so behind a company's proxy it could fetch nothing.
"""

from __future__ import annotations

import ssl
import warnings
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.utils import CryptographyDeprecationWarning

PASSWORD = "public"  # noqa: S105 - Java requires one; the file contains public certificates only


def trust_options(folder: Path) -> list[str]:
    """The options of `java` that replace its authorities by Python's, kept below `folder`; none if Python has none."""
    roots = ssl.create_default_context().get_ca_certs(binary_form=True)
    named = [PKCS12Certificate(root, None) for root in map(_regular, roots) if root is not None]
    if not named:
        return []
    store = folder / "trust.p12"
    store.write_bytes(serialize_java_truststore(named, BestAvailableEncryption(PASSWORD.encode())))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def _regular(root: bytes) -> x509.Certificate | None:
    """The certificate, or None for the few old ones that break the rules of their own standard."""
    with warnings.catch_warnings(category=CryptographyDeprecationWarning, action="error"):
        try:
            return x509.load_der_x509_certificate(root)
        except (ValueError, CryptographyDeprecationWarning):
            return None
