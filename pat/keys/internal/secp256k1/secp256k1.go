// Package secp256k1 encodes keys on the curve secp256k1 in the forms that package keys needs. Agents of other protocols have such keys;
// crypto/x509 does not support the curve.
package secp256k1

import (
	"encoding/base64"
	"fmt"
	"strings"
)

const (
	// Algorithm is the JOSE name of the signature algorithm of these keys (RFC 8812 3.2). No JWS of this gateway uses it.
	Algorithm = "ES256K"
	// infoPrefix precedes the point in a SubjectPublicKeyInfo of secp256k1: id-ecPublicKey with the curve 1.3.132.0.10, and a bit string
	// of 65 bytes. RFC 5480 2, SEC 2 2.4.1.
	infoPrefix = "\x30\x56\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x0a\x03\x42\x00"
	pointSize  = 65
)

// Info encodes an uncompressed point of 65 bytes as a DER SubjectPublicKeyInfo, and as the members of a JWK that the thumbprint covers, in
// the order of the thumbprint (RFC 8812 3.1, RFC 7638 3.2).
func Info(point []byte) (spki, members []byte) {
	b64 := base64.RawURLEncoding.EncodeToString
	members = fmt.Appendf(nil, `{"crv":"secp256k1","kty":"EC","x":"%s","y":"%s"}`, b64(point[1:33]), b64(point[33:]))
	return append([]byte(infoPrefix), point...), members
}

// Point returns the point in a SubjectPublicKeyInfo that Info has written. ok is false for any other input. Point does not check that the
// point is on the curve.
func Point(spki []byte) (point []byte, ok bool) {
	text, ok := strings.CutPrefix(string(spki), infoPrefix)
	return []byte(text), ok && len(text) == pointSize
}
