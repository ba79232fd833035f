package wire

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

// Post posts a body to a server of the operator, and returns the body of the response. A status other than 2xx is an error, including a
// redirect, and so is a response of more than maxBytes bytes.
func Post(ctx context.Context, c *fetch.Client, url string, header http.Header, body []byte, maxBytes int64) ([]byte, error) {
	answer, err := c.Do(ctx, fetch.Request{Method: http.MethodPost, URL: url, Header: header, Body: body, Max: maxBytes})
	if err == nil && answer.Status/100 != 2 {
		err = fmt.Errorf("the server answered with status %d", answer.Status)
	}
	return answer.Body, err
}

// SignatureHeader is the header with the signature of a request to a webhook: t=TIME,v1=MAC. TIME is in seconds since 1970, and MAC is the
// HMAC-SHA256, in hexadecimal, of TIME, a full stop and the body, under the secret of the webhook.
const SignatureHeader = "UIM-Signature"

// Sign returns the value of SignatureHeader.
func Sign(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
