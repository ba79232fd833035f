package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// ETag returns the strong entity tag of a document: a digest of its bytes. RFC 9110 8.8.3.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:]) + `"`
}

// MatchesETag reports whether an If-None-Match field matches an entity tag, by weak comparison. RFC 9110 13.1.2.
func MatchesETag(field, etag string) bool {
	for candidate := range strings.SplitSeq(field, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}
