package mrp

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"time"
)

// NewMessageID returns the id of a message. It contains the time in seconds, which readers must not rely on.
func NewMessageID(at time.Time) string {
	return "msg_" + strconv.FormatInt(at.Unix(), 10) + "_" + random(6)
}

// NewBlobID returns an id of a blob.
func NewBlobID() string { return "blob_" + random(12) }

// NewRequestID returns an id of a request.
func NewRequestID() string { return "req_" + random(12) }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
