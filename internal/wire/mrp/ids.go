package mrp

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"
)

// NewMessageID returns a new message id. The id contains the time in seconds, but readers must not rely on it.
func NewMessageID(at time.Time) string {
	return "msg_" + strconv.FormatInt(at.Unix(), 10) + "_" + random(6)
}

// NewBlobID returns a new blob id.
func NewBlobID() string { return "blob_" + random(12) }

// NewRequestID returns a new request id.
func NewRequestID() string { return "req_" + random(12) }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
