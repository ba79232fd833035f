package mail

import (
	"errors"
	"time"
)

// The errors of a message store. Any other is store.ErrUnavailable.
var (
	ErrReplayed   = errors.New("the signature was used before")
	ErrSuspended  = errors.New("the agent is suspended")
	ErrNotFound   = errors.New("there is no such record")
	ErrDenied     = errors.New("the recipient does not take messages of this sender")
	ErrForbidden  = errors.New("the record is another's")
	ErrFull       = errors.New("there is no room for one more") // of the relay
	ErrQueueFull  = errors.New("the recipient has as many messages waiting as it may")
	ErrOverQuota  = errors.New("the agent has as much as it may")
	ErrReferenced = errors.New("a message that has not expired has the blob attached")
	ErrKeyReused  = errors.New("the idempotency key was used for another message")
	ErrNoBlob     = errors.New("an attachment is not a blob that the sender can read")
)

// The states of a message.
const (
	Sent      = "sent"
	Delivered = "delivered" // its recipient has it
	Expired   = "expired"   // it expired before its recipient had it
)

// The values of an agent's settings.
const (
	Active    = "active" // statuses
	Suspended = "suspended"
	Public    = "public" // visibilities
	Private   = "private"
	Open      = "open"      // policies of an inbox: all may send,
	Closed    = "closed"    // none,
	Allowlist = "allowlist" // agents with an entry of its access list that allows them,
	Blocklist = "blocklist" // all agents without an entry that blocks them
	Allow     = "allow"     // entries of an access list
	Block     = "block"
)

// MaxEntries bounds the entries of an access list.
const MaxEntries = 10_000

// A Key is the Ed25519 public key of an agent.
type Key = [32]byte

// A Guard is the signature of one request, which can be used once.
type Guard struct {
	Key       Key
	Signature [64]byte
	Signed    time.Time // when the request was signed by its own statement; zero: it has no time
	Until     time.Time // how long the request would be in time
}

// An Agent is a relay's record of an agent. The strings are those of the protocol.
type Agent struct {
	Key          Key
	Name         string // "": none
	Status       string // active or suspended
	Visibility   string // public or private
	Policy       string // of its inbox: open, closed, allowlist or blocklist
	Metadata     []byte // JSON
	Capabilities []byte // JSON, a list
	CreatedAt    time.Time
	LastActiveAt time.Time
}

// A Profile has an agent's changes to its record; nil fields stay unchanged.
type Profile struct {
	Name         *string
	Visibility   *string
	Policy       *string
	Metadata     []byte
	Capabilities []byte
	Tags         []string // of the capabilities, each once; they go with Capabilities
	Words        *string  // words that searches match: name and capabilities; they change with Name or Capabilities
}

// A Search selects public, active agents. Empty fields restrict nothing.
type Search struct {
	Tags        []string // all of them
	Prefixes    []string // of tags, all of them
	Words       []string // each occurs in the agent's searchable text, in any case
	Name        string   // occurs in the name, in any case
	ActiveSince time.Time
	After       *AgentPlace
	Limit       int
}

// An AgentPlace is the end of a page of agents: they are ordered by last activity, newest first, then by key.
type AgentPlace struct {
	ActiveAt time.Time
	Key      Key
}

// A TagCount is a tag and how many public, active agents have it.
type TagCount struct {
	Tag   string
	Count int64
}

// A Message is an accepted message.
type Message struct {
	ID          string
	Sender      Key
	Recipient   Key
	ContentType string
	Body        []byte // JSON as sent; nil: none
	Attachments []byte // JSON, a list; nil: none
	Metadata    []byte // JSON; nil: none
	ThreadID    string
	InReplyTo   string
	Status      string // sent, delivered or expired
	CreatedAt   time.Time
	ExpiresAt   time.Time
	DeliveredAt time.Time
	Signed      []byte // the request that brought it, as its sender signed it; nil: not stored
}

// A NewMessage is a message to accept, with the bounds to accept it under. The store sets its status and times.
type NewMessage struct {
	Message
	Lifetime       time.Duration // after which it expires
	Blobs          []string      // that are attached: one for each object of Attachments
	IdempotencyKey string        // "": none
	Digest         [32]byte      // of what is sent under that key
	// Waiting bounds the messages that wait for one recipient; Unknown those for a key that never signed a request; All those of the
	// relay, delivered or not, and Bytes their stored size.
	Waiting, Unknown, All, Bytes int64
}

// A Query selects the messages of a recipient in one state, oldest first. Empty fields restrict nothing.
type Query struct {
	Recipient Key
	Status    string
	Sender    *Key
	InReplyTo string
	ThreadID  string
	After     *Place
	Limit     int
}

// A Place is the end of a page of messages.
type Place struct {
	CreatedAt time.Time
	ID        string
}

// A Claim requests messages to post.
type Claim struct {
	Now   time.Time
	Lease time.Duration // how long other processes do not get them
	Limit int           // how many; fewer than 256
	Each  int           // of one owner, including those in progress
	Busy  map[Key]int   // messages of each owner in progress
	// Most lowers Each for one owner, to at least 1; nil: for none.
	Most func(Key) int
	// Hold returns until when no message of a webhook is posted; the zero time, or nil: it is not held.
	Hold func(Webhook) time.Time
}

// A WaitingMessage is a message that waits for its recipient, without its content.
type WaitingMessage struct {
	Place
	Size int64 // of the stored data, in bytes
}

// An Entry is an entry of an agent's access list.
type Entry struct {
	ID        int64
	Owner     Key
	Peer      Key
	Type      string // allow or block
	CreatedAt time.Time
}

// A Blob is the record of a blob; its bytes are stored elsewhere.
type Blob struct {
	ID          string
	Owner       Key
	Hash        [32]byte // SHA-256
	Size        int64
	ContentType string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// A BlobBounds bounds the blobs of one agent, and of all together.
type BlobBounds struct {
	Count, Bytes, All int64
}

// A Webhook is the URL that the messages of an agent are posted to.
type Webhook struct {
	Owner     Key
	URL       string
	Secret    [32]byte
	Enabled   bool
	Failures  int       // consecutive
	CreatedAt time.Time // when it was last set
}

// A WebhookPost is a message to post to a webhook.
type WebhookPost struct {
	Message
	Webhook    Webhook
	DeliveryID string // the same for all attempts
	Attempt    int    // from 1
}

// Totals has the amounts of a relay's data.
type Totals struct {
	Agents, Waiting, Messages, Bytes, Blobs, BlobBytes, Webhooks int64
}
