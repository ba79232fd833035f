package aea_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// TestTranscripts compares whole conversations with transcripts, message by message.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	propose := func(price int64) protocol.FIPAMessage {
		return protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: search.Describe("uim_offer",
			search.KeyValue{Key: "price", Value: search.Int(price)})}
	}
	for name, talk := range map[string]func(*testing.T, *aeatest.Agent){
		"acceptance": func(t *testing.T, a *aeatest.Agent) {
			t.Helper()
			a.Calls(t, searchCall(a.Agrees(t, gatetest.Searching)))
		},
		"plain-acceptance": func(t *testing.T, a *aeatest.Agent) {
			t.Helper()
			turn, offer := a.Asks(t, gatetest.Ordering)
			a.Reply(t, turn, says(protocol.FIPAAccept, nil))
			turn, _ = a.FIPA(t, protocol.FIPAMatchAcceptWInform)
			a.Reply(t, turn, says(protocol.FIPAInform, a.Info(offer)))
			turn, m := a.FIPA(t, protocol.FIPAInform)
			a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": m.Info["pat"]}))
			a.FIPA(t, protocol.FIPAEnd) // a PAT that charges needs a proof of key for renewal
			a.Refusal(t)
		},
		"counter-offers": func(t *testing.T, a *aeatest.Agent) {
			t.Helper()
			turn, _ := a.Asks(t, gatetest.Ordering)
			a.Reply(t, turn, propose(20))
			turn, _ = a.FIPA(t, protocol.FIPAPropose)
			a.Reply(t, turn, propose(25))
			turn, _ = a.FIPA(t, protocol.FIPAAccept)
			a.Reply(t, turn, says(protocol.FIPADecline, nil))
		},
		"refusals": func(t *testing.T, a *aeatest.Agent) {
			t.Helper()
			a.Start(t, &protocol.FIPA, aeatest.CFP("shop.example:sell:v1"))
			a.FIPA(t, protocol.FIPADecline)
			a.Refusal(t)
			turn, offer := a.Asks(t, gatetest.Searching)
			info := a.Info(offer)
			info["signature"] = strings.ToLower(info["signature"])
			a.Reply(t, turn, accept(info))
			a.FIPA(t, protocol.FIPADecline)
			a.Refusal(t)
			a.Calls(t, searchCall(""))
			a.Start(t, &protocol.Default, aeatest.Text("no JSON"))
			a.Next(t)
		},
		"http": func(t *testing.T, a *aeatest.Agent) {
			t.Helper()
			a.Requests(t, protocol.HTTPMessage{Method: "GET", URL: "http://shop/api/policy"})
			a.Requests(t, protocol.HTTPMessage{
				Method: "POST", URL: "http://shop/api/intents/execute", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte("{}"),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, "")
			r := &recorder{Way: s.line}
			a := aeatest.NewAgent(r, s.address, aeatest.Key(t, aeatest.KeyPublished), identity.Fetchai)
			talk(t, a)
			file := "testdata/transcripts/" + name + ".txt"
			got := r.written()
			if bindtest.Update() {
				s.Must(os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			s.Must(err)
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

// A recorder records the messages of a Way.
type recorder struct {
	aeatest.Way
	lines strings.Builder
}

func (r *recorder) Send(tb testing.TB, e wire.Envelope) {
	tb.Helper()
	r.note(tb, "agent", e)
	r.Way.Send(tb, e)
}

func (r *recorder) Next(tb testing.TB, agent string) wire.Envelope {
	tb.Helper()
	e := r.Way.Next(tb, agent)
	r.note(tb, "gateway", e)
	return e
}

func (r *recorder) note(tb testing.TB, from string, e wire.Envelope) {
	tb.Helper()
	p, err := protocol.Lookup(e.Protocol)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := p.Decode(m.Content)
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(&r.lines, "%s: %s %d answers %d (%s, %s): %s\n", from, e.Protocol, m.ID, m.Target, m.StarterRef, m.ResponderRef, c.Kind())
	member := func(name string, value any) { fmt.Fprintf(&r.lines, "    %s: %v\n", name, value) }
	switch c := c.(type) {
	case protocol.FIPAMessage:
		for _, v := range c.Proposal.Values {
			member(v.Key, v.Value)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Info)) {
			member(name, strings.ReplaceAll(c.Info[name], "\n", " | "))
		}
		for _, constraint := range c.Query.Constraints {
			member("query", fmt.Sprintf("%+v", constraint))
		}
	case protocol.DefaultMessage:
		if len(c.Bytes) > 0 {
			member("bytes", string(c.Bytes))
		}
		if c.Performative == protocol.DefaultError {
			member("error", fmt.Sprint(c.Code, " ", c.Text))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Data)) {
			member(name, string(c.Data[name]))
		}
	case protocol.HTTPMessage:
		member("line", fmt.Sprint(c.Method, " ", c.URL, " ", c.Status, " ", c.StatusText))
		for _, name := range slices.Sorted(maps.Keys(c.Header)) {
			member(name, strings.Join(c.Header[name], ", "))
		}
		member("body", strings.Join(strings.Fields(string(c.Body)), " "))
	}
}

// random has patterns for values that differ in each run, and a name for each.
var random = []struct {
	is   *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "PAT"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "JTI"},
	{regexp.MustCompile(`envelope: \S+`), "envelope: ENVELOPE"}, // in errors; contains references
	{regexp.MustCompile(`signature: \S+`), "signature: SIGNATURE"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "https://gateway"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HEX"},
}

// written returns the transcript, with random values replaced by numbered names.
func (r *recorder) written() string {
	text := r.lines.String()
	for _, one := range random {
		named := map[string]string{}
		text = one.is.ReplaceAllStringFunc(text, func(found string) string {
			if named[found] == "" {
				named[found] = fmt.Sprint(one.name, len(named)+1)
			}
			return named[found]
		})
	}
	return text
}
