// Package keys handles the public keys with which agents agree, and the keys with which this gateway signs. Parse reads a public key in
// every form that agents send. New is the only place that decides whether a key is strong enough. JWS and DetachedSignature verify
// signatures with Ed25519, ECDSA on P-256 and RSA. A Keyring holds the private key of this process and the public keys of all processes,
// rotates them, and publishes the public keys as a JWKS. See RFC 7515; RFC 7517; RFC 7638.
package keys
