package mrp

import "time"

// The headers of responses to requests about blobs.
const (
	HeaderHash  = "X-M2M-Blob-Hash"
	HeaderUsed  = "X-M2M-Storage-Used"  // bytes that the agent currently stores
	HeaderLimit = "X-M2M-Storage-Limit" // bytes that the agent may store
)

// A Blob is a sequence of bytes that a relay stores.
type Blob struct {
	ID          string    `json:"blob_id"`
	Hash        string    `json:"hash"` // SHA-256, in lowercase hex
	Size        int64     `json:"size"` // bytes
	ContentType string    `json:"content_type"`
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}
