package mail

import (
	"errors"
	"time"
)

// The errors of a message store. All other errors wrap store.ErrUnavailable.
var (
	ErrReplayed   = errors.New("the signature was used before")
	ErrSuspended  = errors.New("the agent is suspended")
	ErrNotFound   = errors.New("no such record")
	ErrDenied     = errors.New("the recipient does not accept messages from this sender")
	ErrForbidden  = errors.New("the record belongs to another agent")
	ErrFull       = errors.New("the relay is full")
	ErrQueueFull  = errors.New("too many messages are waiting for the recipient")
	ErrOverQuota  = errors.New("the quota of the agent is exhausted")
	ErrReferenced = errors.New("the blob is attached to a message that has not expired")
	ErrKeyReused  = errors.New("the idempotency key was used for another message")
	ErrNoBlob     = errors.New("an attachment is not a blob that the sender can read")
)

// The states of a message.
const (
	Sent      = "sent"
	Delivered = "delivered" // the recipient has received it
	Expired   = "expired"   // it expired before the recipient received it
)

// The values of an agent's settings.
const (
	Active    = "active"    // status
	Suspended = "suspended" // status
	Public    = "public"    // visibility
	Private   = "private"   // visibility
	Open      = "open"      // inbox policy: all agents may send
	Closed    = "closed"    // inbox policy: no agent may send
	Allowlist = "allowlist" // inbox policy: only agents that the access list allows may send
	Blocklist = "blocklist" // inbox policy: all agents that the access list does not block may send
	Allow     = "allow"     // type of an entry of an access list
	Block     = "block"     // type of an entry of an access list
)

// MaxEntries limits the number of entries in an access list.
const MaxEntries = 10_000

// A Key is the Ed25519 public key of an agent.
type Key = [32]byte

// A Guard is the signature of one request. It can be used only once.
type Guard struct {
	Key       Key
	Signature [64]byte
	Signed    time.Time // the time of signing that the request states; zero if it states none
	Until     time.Time // the request is rejected as too old from then on
}

// An Agent is a relay's record of an agent. The strings have the values of the protocol.
type Agent struct {
	Key          Key
	Name         string // "" means none
	Status       string // active or suspended
	Visibility   string // public or private
	Policy       string // the inbox policy: open, closed, allowlist or blocklist
	Metadata     []byte // JSON
	Capabilities []byte // JSON, a list
	CreatedAt    time.Time
	LastActiveAt time.Time
}

// A Profile contains an agent's changes to its record. Nil fields leave the record unchanged.
type Profile struct {
	Name         *string
	Visibility   *string
	Policy       *string
	Metadata     []byte
	Capabilities []byte
	Tags         []string // the tags of the capabilities, without duplicates; set this with Capabilities
	Words        *string  // searchable text of name and capabilities; set together with Name or Capabilities
}

// A Search selects public, active agents. Limit is required; other empty fields restrict nothing.
type Search struct {
	Tags        []string // the agent has all of these tags
	Prefixes    []string // the agent has a tag with each of these prefixes
	Words       []string // each occurs in the agent's searchable text, ignoring case
	Name        string   // occurs in the name, ignoring case
	ActiveSince time.Time
	After       *AgentPlace
	Limit       int
}

// An AgentPlace is the end of a page of agents. Agents are ordered by last activity, newest first, and then by key.
type AgentPlace struct {
	ActiveAt time.Time
	Key      Key
}

// A TagCount is a tag with the number of public, active agents that have it.
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
	Body        []byte // JSON as sent; nil means none
	Attachments []byte // JSON, a list; nil means none
	Metadata    []byte // JSON; nil means none
	ThreadID    string
	InReplyTo   string
	Status      string // sent, delivered or expired
	CreatedAt   time.Time
	ExpiresAt   time.Time
	DeliveredAt time.Time
	Signed      []byte // the request to send the message, as the sender signed it; nil if not stored
}

// A NewMessage is a message that a relay receives, with the limits for accepting it. The store sets its status and times.
type NewMessage struct {
	Message
	Lifetime       time.Duration // the message expires after this time
	Blobs          []string      // ids of the attached blobs, one for each object in Attachments
	IdempotencyKey string        // "" means none
	Digest         [32]byte      // the digest of the request that uses the key
	// Waiting limits the messages that wait for one recipient, and Unknown those that wait for a key that has never signed a request. All
	// limits the messages of the relay, delivered or not, and Bytes limits their stored size.
	Waiting, Unknown, All, Bytes int64
}

// A Query selects the messages of a recipient in one state, oldest first. Recipient, Status and Limit are required; other empty fields
// restrict nothing.
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

// A Claim requests messages that are due to be posted to webhooks.
type Claim struct {
	Now   time.Time
	Lease time.Duration // how long other processes cannot claim the messages
	Limit int           // maximum number of messages; below 256
	Each  int           // maximum number for one owner, including those in progress
	Busy  map[Key]int   // messages in progress, by owner
	// Most returns a limit for one owner, which may be lower than Each; a limit below 1 counts as 1. If Most is nil, Each is the limit.
	Most func(Key) int
	// Hold returns the end of the pause of a webhook: no message is posted to it before that time. If Hold is nil, no webhook is paused.
	Hold func(Webhook) time.Time
}

// A WaitingMessage is a message that waits for its recipient, without its content.
type WaitingMessage struct {
	Place
	Size int64 // the size of the stored data, in bytes
}

// An Entry is an entry of an agent's access list.
type Entry struct {
	ID        int64
	Owner     Key
	Peer      Key
	Type      string // allow or block
	CreatedAt time.Time
}

// A Blob is the record of a blob. Its contents are stored elsewhere.
type Blob struct {
	ID          string
	Owner       Key
	Hash        [32]byte // SHA-256
	Size        int64
	ContentType string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// BlobBounds limits the stored blobs: the number and total size of those of one agent (Count, Bytes), and the total size of those of all
// agents (All). Sizes are in bytes.
type BlobBounds struct {
	Count, Bytes, All int64
}

// A Webhook is the URL to which the messages of an agent are posted.
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

// Totals counts the records of a relay. Bytes is the stored size of its messages, and BlobBytes that of its blobs.
type Totals struct {
	Agents, Waiting, Messages, Bytes, Blobs, BlobBytes, Webhooks int64
}
