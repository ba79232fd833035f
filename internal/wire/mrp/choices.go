package mrp

import "time"

// Values that the public pages of the protocol state.
const (
	Tolerance      = 5 * time.Minute // difference between the timestamp of a request and the relay's clock
	MaxBody        = 1 << 20         // bytes of a message's body, as sent
	MaxRequest     = 2 << 20         // bytes of a request except for a blob, and of a frame of the WebSocket
	MaxAttachments = 10
	MaxCapability  = 20 // of one agent
	MaxDisplayName = 256
	DefaultExpiry  = 7 * 24 * time.Hour
	MaxExpiry      = 30 * 24 * time.Hour
	DefaultPage    = 50 // messages
	DefaultAgents  = 20 // agents that discover returns
	MaxPage        = 100
	MaxBlob        = 100 << 20
	AuthWithin     = 10 * time.Second // for the first frame of a WebSocket, and for the response of a webhook
)

// Values that they leave open, and that were chosen here. Each is one place to change once the full specification is available.
const (
	MaxThreadID    = 128              // characters of a thread_id
	MaxMetadata    = 16 << 10         // bytes of the metadata of a message or a profile
	MaxName        = 128              // characters of the name of a capability
	MaxDescription = 1024             // characters of its description
	MaxTag         = 64               // characters of a tag: letters, digits and _ : . -
	MaxTags        = 20               // of one capability
	MaxSchema      = 16 << 10         // bytes of an input_schema
	MaxVersion     = 64               // characters of the version of a capability
	MaxContentType = 256              // characters of a content_type
	MaxFilename    = 256              // characters of a filename
	MaxSealedKey   = 1 << 10          // characters of dek_enc and of dek_ct
	MaxIdempotency = 128              // characters of an idempotency_key, an extension
	MaxWait        = 30 * time.Second // of a long poll, an extension
	MaxEntries     = 10_000           // of one agent's access list
	BlobLifetime   = 30 * 24 * time.Hour
	ExpiredKept    = 24 * time.Hour // how long after its expiry an undelivered message can be requested
	IdempotencyAge = 24 * time.Hour
	MaxQuery       = 256 // characters of a filter of discover
)
