package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// ETag returns the strong entity tag (RFC 9110 8.8.3) of a document: a digest of its bytes.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// MatchesETag reports whether an If-None-Match field (RFC 9110 13.1.2) matches an entity tag, by weak comparison.
func MatchesETag(field, etag string) bool {
	for candidate := range strings.SplitSeq(field, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}
