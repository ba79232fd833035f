"""Keys of agents, and what they sign."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from ._errors import FileError, JsonError, OptionsError
from ._files import read_private, write_private
from ._json import canonical, decode_object

_MAX_FILE = 64 << 10
_MIN_RSA, _MAX_RSA = 2048, 4096
_EXPONENT = 65537

Signer = Callable[[bytes], bytes]
_Private = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_Public = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey


def b64(data: bytes) -> str:
    """Returns base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def unb64(text: str) -> bytes:
    """Reads base64url without padding. It accepts only one encoding of each value."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if b64(data) != text:
        raise ValueError("not base64url")
    return data


def digest_of(value: Any) -> str:
    """Returns base64url of SHA-256 over the canonical JSON of a value."""
    return b64(hashlib.sha256(canonical(value)).digest())


class PublicKey:
    """A public key: Ed25519, ECDSA P-256, or RSA of 2048 to 4096 bits with the exponent 65537. An OptionsError states what is wrong."""

    def __init__(self, public: Any) -> None:
        self._public: _Public
        if isinstance(public, ed25519.Ed25519PublicKey):
            self.algorithm = "EdDSA"
            raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            self.jwk = {"crv": "Ed25519", "kty": "OKP", "x": b64(raw)}
        elif isinstance(public, ec.EllipticCurvePublicKey):
            if not isinstance(public.curve, ec.SECP256R1):
                raise OptionsError("the elliptic curve is not accepted: use Ed25519 or P-256")
            point = public.public_numbers()
            self.algorithm = "ES256"
            self.jwk = {"crv": "P-256", "kty": "EC", "x": b64(point.x.to_bytes(32, "big")), "y": b64(point.y.to_bytes(32, "big"))}
        elif isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            if not _MIN_RSA <= public.key_size <= _MAX_RSA or numbers.e != _EXPONENT:
                raise OptionsError(f"an RSA key must have {_MIN_RSA} to {_MAX_RSA} bits and the exponent {_EXPONENT}")
            self.algorithm = "RS256"
            self.jwk = {"e": "AQAB", "kty": "RSA", "n": b64(numbers.n.to_bytes((public.key_size + 7) // 8, "big"))}
        else:
            raise OptionsError("this type of key is not accepted: use Ed25519, ECDSA P-256 or RSA")
        self._public = public
        self.thumbprint = digest_of(self.jwk)

    @classmethod
    def from_jwk(cls, jwk: dict[str, Any]) -> PublicKey:
        """Reads an Ed25519 key (RFC 8037). Services sign receipts only with such keys."""
        if jwk.get("kty") == "OKP" and jwk.get("crv") == "Ed25519" and isinstance(jwk.get("x"), str):
            try:
                return cls(ed25519.Ed25519PublicKey.from_public_bytes(unb64(jwk["x"])))
            except ValueError:
                pass
        raise OptionsError("the JWK is not an Ed25519 key")

    @property
    def spki(self) -> bytes:
        """The key as DER SubjectPublicKeyInfo."""
        return self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)

    @property
    def pem(self) -> str:
        """The key as PEM."""
        encoded = self._public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return encoded.decode("ascii")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Reports whether this key made a signature in JOSE format."""
        try:
            if isinstance(self._public, ed25519.Ed25519PublicKey):
                self._public.verify(signature, message)
            elif isinstance(self._public, rsa.RSAPublicKey):
                self._public.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
            else:
                if len(signature) != 64:
                    return False
                r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
                self._public.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


class Key(PublicKey):
    """The key with which an agent signs. It is never printed."""

    def __init__(self, public: Any, sign: Signer) -> None:
        super().__init__(public)
        self._sign = sign

    def __repr__(self) -> str:
        return f"<Key {self.algorithm} {self.thumbprint}>"

    @classmethod
    def generate(cls) -> Key:
        """Generates an Ed25519 key that exists only in this process. To keep a key, use from_file."""
        return cls._of(ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, create: bool = False) -> Key:
        """Reads a private key from a file: PEM, PKCS#8, not encrypted. Only the owner may be able to read the file. With create, a
        missing file gets a new key."""
        at = Path(path).expanduser()
        text = read_private(at, _MAX_FILE)
        if text is None and create:
            key = ed25519.Ed25519PrivateKey.generate()
            try:
                write_private(
                    at,
                    key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
                    new=True,
                )
                return cls._of(key)
            except FileError:
                text = read_private(at, _MAX_FILE)  # another process has created it
        if text is None:
            raise FileError(f"{at}: there is no such file: create a key with uimgate agent keygen, or with from_file(path, create=True)")
        return cls._from_pem(text, str(at))

    @classmethod
    def from_env(cls, name: str = "UIMGATE_KEY") -> Key:
        """Reads a private key from a variable of the environment: PEM, or base64 of PEM."""
        text = os.environ.get(name, "").strip()
        if not text:
            raise FileError(f"the variable {name} is empty: set it to a private key as PEM, or to base64 of the PEM")
        if len(text) > 2 * _MAX_FILE:
            raise FileError(f"the variable {name} is larger than a key")
        try:
            data = text.encode("ascii") if text.startswith("-----") else base64.b64decode(text, validate=True)
        except ValueError:
            raise FileError(f"the variable {name} has neither PEM nor base64 of PEM") from None
        return cls._from_pem(data, f"the variable {name}")

    @classmethod
    def from_signer(cls, public_pem: str, sign: Signer) -> Key:
        """Uses a key outside this process, such as a key in a KMS. sign returns the signature over its argument: 64 bytes for Ed25519
        and for P-256 (or DER), PKCS#1 v1.5 for RSA, the last two over SHA-256 of the argument."""
        try:
            public = serialization.load_pem_public_key(public_pem.encode("ascii"))
        except (ValueError, UnicodeError, UnsupportedAlgorithm):
            raise OptionsError("the public key is not PEM (BEGIN PUBLIC KEY)") from None
        return cls(public, sign)

    @classmethod
    def _from_pem(cls, text: bytes, where: str) -> Key:
        if b"ENCRYPTED" in text:
            raise FileError(f"{where}: the key is encrypted: decrypt it with openssl pkey, or sign with Key.from_signer")
        if b"-----BEGIN PRIVATE KEY-----" not in text:
            raise FileError(f'{where}: want a PEM block "PRIVATE KEY" (PKCS#8), which uimgate agent keygen creates')
        try:
            return cls._of(serialization.load_pem_private_key(text, None))
        except OptionsError as error:
            raise FileError(f"{where}: {error}") from None
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise FileError(f"{where}: the PEM block does not contain a valid PKCS#8 key of an accepted type") from None

    @classmethod
    def _of(cls, private: Any) -> Key:
        if not isinstance(private, (ed25519.Ed25519PrivateKey, ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
            raise OptionsError("this type of key is not accepted: use Ed25519, ECDSA P-256 or RSA")
        return cls(private.public_key(), _signer(private))

    def sign(self, message: bytes) -> bytes:
        """Signs a message, in the format of JOSE (RFC 7518 3.3 and 3.4, RFC 8037 3.1)."""
        signature = self._sign(message)
        if not isinstance(signature, bytes):
            raise OptionsError("the signer must return bytes")
        if self.algorithm == "ES256" and len(signature) != 64:
            try:
                r, s = decode_dss_signature(signature)
                signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
            except (ValueError, OverflowError):
                pass
        if not self.verifies(message, signature):
            raise OptionsError("the signature of the signer does not verify with its public key")
        return signature

    def sign_jws(self, header: dict[str, Any], payload: dict[str, Any]) -> str:
        """Makes a compact JWS (RFC 7515 7.1) of canonical JSON, and sets alg."""
        text = b64(canonical({**header, "alg": self.algorithm})) + "." + b64(canonical(payload))
        return text + "." + b64(self.sign(text.encode("ascii")))


def _signer(private: _Private) -> Signer:
    if isinstance(private, ed25519.Ed25519PrivateKey):
        return private.sign
    if isinstance(private, rsa.RSAPrivateKey):
        return partial(private.sign, padding=padding.PKCS1v15(), algorithm=hashes.SHA256())
    return partial(private.sign, signature_algorithm=ec.ECDSA(hashes.SHA256()))


def read_jws(text: str, most: int) -> tuple[dict[str, Any], bytes, bytes, bytes]:
    """Splits a compact JWS into header, payload, signature and what is signed, without verifying it. It raises ValueError."""
    parts = text.split(".")
    if len(text) > most or len(parts) != 3 or not parts[2]:
        raise ValueError("not a compact JWS")
    try:
        header = decode_object(unb64(parts[0]))
    except JsonError:
        raise ValueError("not a compact JWS") from None
    if header.keys() & {"crit", "b64", "zip", "enc"}:
        raise ValueError("extensions of JWS are not supported")
    return header, unb64(parts[1]), unb64(parts[2]), f"{parts[0]}.{parts[1]}".encode("ascii")
