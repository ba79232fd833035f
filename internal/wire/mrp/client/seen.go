package client

import (
	"container/list"
	"sync"
	"time"
)

// Seen records which messages were processed, because relays deliver each message at least once. It is safe for concurrent use.
type Seen interface {
	// Seen reports whether Record was called for the message. An implementation may forget messages that have expired.
	Seen(id string) bool
	// Record stores that a handler has processed the message, which expires at until. If Record returns an error, the message may
	// be handled again.
	Record(id string, until time.Time) error
}

// maxRemembered is the maximum number of ids that are kept in memory.
const maxRemembered = 100_000

// Remember returns a Seen that keeps the newest 100,000 ids in memory.
func Remember() Seen { return &memory{at: map[string]*list.Element{}, order: list.New()} }

type memory struct {
	sync.Mutex
	at    map[string]*list.Element
	order *list.List // of ids, the oldest first
}

func (m *memory) Seen(id string) bool {
	m.Lock()
	defer m.Unlock()
	return m.at[id] != nil
}

func (m *memory) Record(id string, _ time.Time) error {
	m.Lock()
	defer m.Unlock()
	if m.at[id] == nil {
		m.at[id] = m.order.PushBack(id)
	}
	for len(m.at) > maxRemembered {
		id, _ := m.order.Remove(m.order.Front()).(string)
		delete(m.at, id)
	}
	return nil
}

// busy holds the ids of the messages that are being handled.
type busy struct {
	sync.Mutex
	ids map[string]bool
}

func newBusy() *busy { return &busy{ids: map[string]bool{}} }

// begin claims a message for the calling goroutine. It returns false if another goroutine is handling the message.
func (b *busy) begin(id string) bool {
	b.Lock()
	defer b.Unlock()
	if b.ids[id] {
		return false
	}
	b.ids[id] = true
	return true
}

func (b *busy) end(id string) {
	b.Lock()
	defer b.Unlock()
	delete(b.ids, id)
}
