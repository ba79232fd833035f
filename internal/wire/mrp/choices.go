package mrp

import "time"

// Values that the public documentation of the protocol specifies.
const (
	Tolerance      = 5 * time.Minute // largest difference between the timestamp of a request and the relay's clock
	MaxBody        = 1 << 20         // bytes of a message's body, as sent
	MaxRequest     = 2 << 20         // bytes of a WebSocket frame, and of a request that does not upload a blob
	MaxAttachments = 10
	MaxCapability  = 20 // capabilities of one agent
	MaxDisplayName = 256
	DefaultExpiry  = 7 * 24 * time.Hour
	MaxExpiry      = 30 * 24 * time.Hour
	DefaultPage    = 50 // messages per page
	DefaultAgents  = 20 // agents per page of discover
	MaxPage        = 100
	MaxBlob        = 100 << 20
	AuthWithin     = 10 * time.Second // time limit for the first frame of a WebSocket, and for the response of a webhook
)

// Values that the documentation leaves open and this package chooses. They may change once the full specification is available.
const (
	MaxThreadID    = 128              // characters of a thread_id
	MaxMetadata    = 16 << 10         // bytes of the metadata of a message or a profile
	MaxName        = 128              // characters of the name of a capability
	MaxDescription = 1024             // characters of the description of a capability
	MaxTag         = 64               // characters of a tag: letters, digits and _ : . -
	MaxTags        = 20               // tags of one capability
	MaxSchema      = 16 << 10         // bytes of an input_schema
	MaxVersion     = 64               // characters of the version of a capability
	MaxContentType = 256              // characters of a content_type
	MaxFilename    = 256              // characters of a filename
	MaxSealedKey   = 1 << 10          // characters of dek_enc and of dek_ct
	MaxIdempotency = 128              // characters of an idempotency_key, which is an extension
	MaxWait        = 30 * time.Second // duration of a long poll, which is an extension
	MaxEntries     = 10_000           // entries in one agent's access list
	BlobLifetime   = 30 * 24 * time.Hour
	ExpiredKept    = 24 * time.Hour // how long an undelivered message can still be requested after it has expired
	IdempotencyAge = 24 * time.Hour // how long a relay remembers an idempotency_key
	MaxQuery       = 256            // characters of a discover filter
)
