package mailbox

import (
	"fmt"
	"testing"
	"time"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
)

// TestSessionsAreBounded checks that a new session replaces the one that was idle longest, once there are maxSessions.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSessions(time.Now)
	s.open(aeatest.Port(t, time.Now))
	active := s.begin("active")
	second := s.begin("second")
	for i := range maxSessions {
		if s.get(active) == nil {
			t.Fatalf("session %d replaced an active one", i)
		}
		s.begin(fmt.Sprint("agent", i))
	}
	if peers, _ := s.count(); peers != maxSessions || s.get(second) != nil || s.get(active) == nil {
		t.Errorf("%d sessions", peers)
	}
	s.close()
	if peers, _ := s.count(); peers != 0 || s.get(active) != nil {
		t.Errorf("%d sessions after the end", peers)
	}
	if token := s.begin("late"); token != "" || s.get(token) != nil { // of a request during the shutdown
		t.Errorf("got %q", token)
	}
}
