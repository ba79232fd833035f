package bindings_test

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/gateway/door"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	aeawire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A caller makes concurrent calls as one AEA agent over one connection.
type caller struct {
	g       *gatetest.Gate
	from    *aeatest.Agent
	peer    *aeatest.Peer
	token   string
	mu      sync.Mutex
	waiting map[string]chan []byte // receives the reply, by the agent's dialogue reference
}

// inMessages makes an AEA agent agree, and returns its PAT and the way of its messages, which alternate between default and http.
func inMessages(g *gatetest.Gate) (token string, w way) {
	g.Helper()
	var at map[string]string
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s.Door == aea.Name {
			at = s.Addresses
		}
	}
	key := aeatest.Numbered(g.T, 2)
	peer := aeatest.TCP(g.T, at["tcp"], key.Public(identity.Fetchai).Address())
	c := &caller{
		g: g, from: aeatest.NewAgent(peer, at["address"], key, identity.Fetchai), peer: peer, waiting: map[string]chan []byte{},
	}
	c.token = c.from.Agrees(g.T, gatetest.Searching)
	g.Must(peer.Raw.SetDeadline(time.Time{}))
	var reading sync.WaitGroup
	reading.Go(c.read)
	g.Cleanup(func() { _ = peer.Raw.Close(); reading.Wait() })
	return c.token, way{messages: c.call, done: `{"lamps":1}`}
}

// read passes replies to the waiting calls until the connection closes.
func (c *caller) read() {
	for {
		frame, err := aeawire.TCP.Read(c.peer.Raw)
		if err != nil {
			return
		}
		var m aeawire.Message
		e, err := aeawire.DecodeEnvelope(frame)
		if err == nil {
			m, err = aeawire.DecodeMessage(e.Message)
		}
		if err != nil {
			c.g.Error(err)
			return
		}
		c.mu.Lock()
		answer := c.waiting[m.StarterRef]
		delete(c.waiting, m.StarterRef)
		c.mu.Unlock()
		if answer == nil {
			c.g.Errorf("a reply to an unknown dialogue: %q", m.Content)
			continue
		}
		answer <- m.Content
	}
}

// call makes one call and waits for its reply.
func (c *caller) call(number int64) []byte {
	const request = `{"intent_uid":"shop.example:search:v1","parameters":{"query":"lamp"}`
	spec, content := protocol.Default.Specs[0], protocol.Content(protocol.DefaultMessage{
		Performative: protocol.DefaultBytes, Bytes: fmt.Appendf(nil, request+`,"pat":%q}`, c.token),
	})
	if number%2 == 0 {
		spec, content = protocol.HTTP.Specs[0], protocol.HTTPMessage{
			Performative: protocol.HTTPRequest, Method: http.MethodPost, URL: "/api/intents/execute", Body: []byte(request + "}"),
			Header: http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}},
		}
	}
	ref, answer := fmt.Sprint("call ", number), make(chan []byte, 1)
	data, err := aeawire.Message{ID: 1, StarterRef: ref, Content: content.Encode()}.Encode()
	if err == nil {
		data, err = aeawire.Envelope{To: c.from.Gateway, Sender: c.from.Address(), Protocol: spec, Message: data}.Encode()
	}
	if err == nil {
		data, err = aeawire.TCP.Append(nil, data)
	}
	c.mu.Lock()
	c.waiting[ref] = answer
	if err == nil {
		_, err = c.peer.Raw.Write(data)
	}
	c.mu.Unlock()
	if err != nil {
		c.g.Error(err)
		return nil
	}
	return <-answer
}
