package mrp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"time"
)

// The headers of a delivery to a webhook.
const (
	HeaderWebhookSignature = "X-M2M-Webhook-Signature"
	HeaderWebhookTimestamp = "X-M2M-Webhook-Timestamp"
	HeaderDeliveryID       = "X-M2M-Delivery-ID"
)

// SecretSize is the size of a webhook's secret in bytes.
const SecretSize = 32

// A Secret is the secret of a webhook.
type Secret [SecretSize]byte

// A Webhook is the URL to which a relay posts the messages of an agent, without its secret.
type Webhook struct {
	URL       string    `json:"url"`
	Enabled   bool      `json:"enabled"`
	Failures  int       `json:"consecutive_failures"` // failed attempts since the last success
	CreatedAt time.Time `json:"created_at"`
}

// maxWebhookURL limits the length of the URL of a webhook, in characters.
const maxWebhookURL = 2048

// ReadWebhook parses the body of a request that sets a webhook. It does not check whether the relay may connect to the address. The error
// has the code bad_request or payload_too_large.
func ReadWebhook(document []byte) (address string, secret Secret, _ *Error) {
	o, err := readObject(document)
	if err != nil {
		return "", secret, err
	}
	address = o.required("url", maxWebhookURL)
	if u, err := url.Parse(address); o.err == nil && (err != nil || u.Host == "" || u.User != nil || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http") {
		o.fail(BadRequest, "url", "must be an https URL without user information and without a fragment")
	}
	text := o.required("secret", 1024)
	if n, err := strict.Decode(make([]byte, strict.DecodedLen(len(text))), []byte(text)); o.err == nil && (err != nil || n != SecretSize) {
		o.fail(BadRequest, "secret", "must be 32 random bytes in base64url without padding")
	}
	if o.err != nil {
		return "", secret, o.err
	}
	decoded, _ := strict.DecodeString(text)
	copy(secret[:], decoded)
	return address, secret, nil
}

// A Delivery is the body of a request that a relay sends to a webhook.
type Delivery struct {
	ID      string  `json:"delivery_id"`
	Message Message `json:"message"`
}

// AppendJSON appends the delivery as JSON. It copies the body of the message byte for byte.
func (d *Delivery) AppendJSON(out []byte) ([]byte, error) {
	id, err := json.Marshal(d.ID)
	if err != nil {
		return nil, err
	}
	out = append(append(append(out, `{"delivery_id":`...), id...), `,"message":`...)
	if out, err = d.Message.AppendJSON(out); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// SignDelivery returns the value of HeaderWebhookSignature: the HMAC-SHA256 of the request body under the decoded secret, in lowercase hex.
// See RFC 2104.
func SignDelivery(secret Secret, body []byte) string {
	mac := hmac.New(sha256.New, secret[:])
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// VerifyDelivery reports whether signature is the HMAC of body under the secret, which proves that a holder of the secret sent the body.
func VerifyDelivery(secret Secret, body []byte, signature string) bool {
	got, err := hex.DecodeString(signature)
	mac := hmac.New(sha256.New, secret[:])
	mac.Write(body)
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}
