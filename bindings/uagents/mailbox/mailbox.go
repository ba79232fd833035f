// Package mailbox keeps envelopes for agents of the uAgents protocol that have no endpoint, until the agents fetch
// them. An agent proves its address with an attestation, as for a mailbox of Agentverse.
//
//	m := mailbox.New(time.Now)
//	release, ok := m.Reserve("shop", address) // before the work whose reply is kept
//	err := m.Put("shop", address, raw)
//	release()
//	address, err := mailbox.Attested(r.Header.Get("Authorization"), time.Now())
package mailbox

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// The bounds of all mailboxes of a process.
const (
	MaxMessages = 64       // messages of one agent
	MaxBytes    = 16 << 20 // bytes of all messages
	// Keep is how long a message waits, which is as long as a delivered reply is valid.
	Keep = 5 * time.Minute

	// Reserve keeps space free for two messages, an acknowledgement and a reply, of this size together.
	reserved, reservedBytes = 2, 32 << 10
)

// ErrFull means that the mailbox of the agent, or the space of all mailboxes, is full.
var ErrFull = errors.New("the mailbox is full")

// A Message is an envelope that waits for its receiver.
type Message struct {
	UUID       string          `json:"uuid"`
	Envelope   json.RawMessage `json:"envelope"`
	ReceivedAt time.Time       `json:"received_at"`
	ExpiresAt  time.Time       `json:"expires_at"`
}

// A key names a mailbox.
type key struct {
	service string
	agent   identity.Address
}

// Mailboxes are the mailboxes of the services of a process. They are safe for concurrent use.
type Mailboxes struct {
	now   func() time.Time
	mu    sync.Mutex
	of    map[key][]Message // the oldest first
	bytes int
	held  map[key]int // reservations
	holds int         // reservations of all mailboxes
}

// New returns empty Mailboxes.
func New(now func() time.Time) *Mailboxes {
	return &Mailboxes{now: now, of: map[key][]Message{}, held: map[key]int{}}
}

// Put adds an envelope of a service to the mailbox of an agent. The error is ErrFull.
func (m *Mailboxes) Put(service string, agent identity.Address, envelope []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, k := m.now().UTC(), key{service, agent}
	m.expire(now)
	if len(m.of[k]) >= MaxMessages || m.bytes+len(envelope) > MaxBytes {
		return ErrFull
	}
	m.bytes += len(envelope)
	m.of[k] = append(m.of[k], Message{UUID: uuid.NewString(), Envelope: envelope, ReceivedAt: now, ExpiresAt: now.Add(Keep)})
	return nil
}

// Reserve reserves space for the messages that answer one envelope of an agent, so that Put accepts them: two messages, of 32 KiB together.
// Longer ones are accepted if there is space. The caller must call release once, after the last Put. ok is false if there is no space.
func (m *Mailboxes) Reserve(service string, agent identity.Address) (release func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(m.now())
	k := key{service, agent}
	if len(m.of[k])+reserved*(m.held[k]+1) > MaxMessages || m.bytes+reservedBytes*(m.holds+1) > MaxBytes {
		return nil, false
	}
	m.held[k]++
	m.holds++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.holds--
		if m.held[k]--; m.held[k] == 0 {
			delete(m.held, k)
		}
	}, true
}

// List returns the messages of an agent, the oldest first.
func (m *Mailboxes) List(service string, agent identity.Address) []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(m.now())
	return slices.Clone(m.of[key{service, agent}])
}

// Delete removes a message of an agent. It returns false if there is none with this id.
func (m *Mailboxes) Delete(service string, agent identity.Address, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key{service, agent}
	at := slices.IndexFunc(m.of[k], func(one Message) bool { return one.UUID == id })
	if at < 0 {
		return false
	}
	m.bytes -= len(m.of[k][at].Envelope)
	if m.of[k] = slices.Delete(m.of[k], at, at+1); len(m.of[k]) == 0 {
		delete(m.of, k)
	}
	return true
}

// expire removes the messages that have waited too long. The caller must hold the lock.
func (m *Mailboxes) expire(now time.Time) {
	for k, list := range m.of {
		old := 0
		for old < len(list) && !now.Before(list[old].ExpiresAt) {
			m.bytes -= len(list[old].Envelope)
			old++
		}
		if list = list[old:]; len(list) == 0 {
			delete(m.of, k)
		} else {
			m.of[k] = list
		}
	}
}
