package mrp

import (
	"container/list"
	"sync"
	"time"
)

// Seen records processed messages, because relays deliver at least once. It is safe for concurrent use.
type Seen interface {
	// Seen reports whether Record was called for a message that has not expired.
	Seen(id string) bool
	// Record is called once a handler has processed a message. After an error the message may arrive again.
	Record(id string, until time.Time) error
}

// maxRemembered bounds how many ids are kept in memory.
const maxRemembered = 100_000

// Remember returns a Seen that lasts as long as the process, and keeps the newest 100,000 ids.
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

// busy holds the messages in progress.
type busy struct {
	sync.Mutex
	ids map[string]bool
}

func newBusy() *busy { return &busy{ids: map[string]bool{}} }

// begin reports whether no other goroutine is handling the message, and claims it.
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
