package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// SignatureHeader is the header with the signature of a request to a webhook: t=TIME,v1=MAC. TIME is in seconds since 1970, and MAC is the
// HMAC-SHA256, in hexadecimal, of TIME, a full stop and the body, under the secret of the webhook.
const SignatureHeader = "UIM-Signature"

// Sign returns the value of SignatureHeader.
func Sign(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
