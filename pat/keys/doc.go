// Package keys has the public keys that agents agree with, and the keys that this gateway signs with. Key reads a public key in every
// form that agents send and is the one place that decides whether a key is strong enough. JWS and Detached verify signatures for Ed25519,
// ECDSA on P-256 and RSA. A Keyring holds the private key of this process and the public keys of all processes, publishes them as a JWKS,
// and rotates them. RFC 7515, RFC 7517, RFC 7638.
package keys
