package mailbox

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/wire"
)

// A holder is a connection that only has a port.
type holder chan *runtime.Port

func (h holder) ID() wire.PublicID              { return ID }
func (h holder) Confidential() bool             { return false }
func (h holder) State() runtime.ConnectionState { return runtime.ConnectionState{} }
func (h holder) Send(wire.Envelope) error       { return nil }
func (h holder) Run(ctx context.Context, port *runtime.Port) error {
	h <- port
	<-ctx.Done()
	return nil
}

// TestSessionsAreBounded in number: the one that rests longest is ended for a new one.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	h := make(holder)
	r := runtime.New("gw", runtime.Options{Now: time.Now})
	if err := r.Connect(h, runtime.ConnectionOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	s := newSessions(time.Now)
	s.open(<-h)
	active := s.begin("active")
	second := s.begin("second")
	for i := range maxSessions {
		if s.get(active) == nil {
			t.Fatalf("the session of an agent that asks was ended for number %d", i)
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
	if token := s.begin("late"); token != "" || s.get(token) != nil { // of a request that came with the end
		t.Errorf("%q", token)
	}
}
