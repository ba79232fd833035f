package mailbox

import (
	"container/list"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// Limits of sessions. Agents poll every two seconds.
const (
	maxSessions = 4096
	idle        = 10 * time.Minute
)

// sessions holds the sessions of registered agents, one for each agent. A session ends when its agent has sent no request for the duration
// idle. If there are too many sessions, a new one replaces the one that has been idle longest.
type sessions struct {
	now func() time.Time

	mu        sync.Mutex
	port      *runtime.Port // nil: the connection is down
	byToken   map[string]*session
	byAddress map[string]*session
	resting   list.List // of *session, longest idle first
}

type session struct {
	token, address string
	queue          *runtime.Queue
	used           time.Time
	place          *list.Element
}

func newSessions(now func() time.Time) *sessions {
	return &sessions{now: now, byToken: map[string]*session{}, byAddress: map[string]*session{}}
}

func (s *sessions) open(port *runtime.Port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.port = port
}

// close ends all sessions.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.byToken {
		s.forget(one)
	}
	s.port = nil
}

// begin starts a session and returns its token. Envelopes queued in an earlier session of the agent move to the new one. begin returns ""
// if the connection is down.
func (s *sessions) begin(address string) (token string) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	token = hex.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.port == nil {
		return ""
	}
	s.expire()
	one := s.byAddress[address]
	if one == nil {
		if len(s.byToken) >= maxSessions {
			oldest, _ := s.resting.Front().Value.(*session)
			s.forget(oldest)
		}
		one = &session{address: address, queue: s.port.Queue()}
		one.place = s.resting.PushBack(one)
		s.byAddress[address] = one
	}
	delete(s.byToken, one.token)
	one.token = token
	s.byToken[token] = one
	s.use(one)
	return token
}

// get returns the session with a token, and records that the session is in use. It returns nil if the session does not exist.
func (s *sessions) get(token string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	one := s.byToken[token]
	if one != nil {
		s.use(one)
	}
	return one
}

func (s *sessions) use(one *session) {
	one.used = s.now()
	s.resting.MoveToBack(one.place)
}

func (s *sessions) end(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byAddress[one.address] == one {
		s.forget(one)
	}
}

func (s *sessions) expire() {
	now := s.now()
	for e := s.resting.Front(); e != nil; e = s.resting.Front() {
		one, _ := e.Value.(*session)
		if now.Sub(one.used) < idle {
			return
		}
		s.forget(one)
	}
}

func (s *sessions) forget(one *session) {
	delete(s.byToken, one.token)
	delete(s.byAddress, one.address)
	s.resting.Remove(one.place)
	s.port.Dropped(one.queue.Close(), runtime.ErrNoPeer)
}

// send puts an envelope into the mailbox of its receiver. It returns runtime.ErrNoPeer or runtime.ErrFull.
func (s *sessions) send(e wire.Envelope) error {
	s.mu.Lock()
	s.expire()
	one := s.byAddress[e.To]
	s.mu.Unlock()
	if one == nil {
		return runtime.ErrNoPeer
	}
	return one.queue.Put(e)
}

func (s *sessions) count() (peers, queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	for _, one := range s.byAddress {
		queued += one.queue.Len()
	}
	return len(s.byAddress), queued
}
