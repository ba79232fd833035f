package bindings_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/pat"
)

// An uagentsInbox is an endpoint of an agent. Its channel receives the posted envelopes.
type uagentsInbox struct {
	*httptest.Server
	received chan []byte
}

func uagentsOpensInbox(t *testing.T) *uagentsInbox {
	t.Helper()
	in := &uagentsInbox{received: make(chan []byte, 4096)}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Uagents-Connection") != "" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %v, %v", r.Header, err)
		}
		in.received <- body
	}))
	t.Cleanup(in.Close)
	return in
}

// reached starts a gateway that posts to the peer at endpoints.
func reached(t *testing.T, endpoints ...string) *uagentsPeer {
	t.Helper()
	list, err := json.Marshal(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return with(t, fmt.Sprintf("rules: {%s: %s}", keyOf(t, "alice recovery password").Address(), list))
}

// with starts a gateway whose door has further settings.
func with(t *testing.T, more string) *uagentsPeer {
	t.Helper()
	g := gatetest.New(t, strings.Replace(uagentsSettings, "key_file: seed.txt", "key_file: seed.txt, "+more, 1),
		func(g *gatetest.Gate) { g.Write("seed.txt", uagentsSeed+"\n") })
	return &uagentsPeer{g, keyOf(t, "alice recovery password"), keyOf(t, uagentsSeed).Address()}
}

// post sends an envelope without waiting for the reply.
func (p *uagentsPeer) post(e envelope.Envelope) gatetest.Answer {
	p.Helper()
	return p.submit(http.MethodPost, p.text(e), "X-Uagents-Connection", "")
}

// postpones sends a message that must be accepted.
func (p *uagentsPeer) postpones(model, message string) {
	p.Helper()
	if a := p.post(p.unsigned(model, message).Sign(p.key)); a.Status != http.StatusOK || string(a.Body) != "{}" ||
		a.Header.Get("Content-Type") != "application/json" {
		p.Fatalf("got %d %s", a.Status, a.Body)
	}
}

// receive waits for the next reply, opens it, and returns its message.
func (in *uagentsInbox) receive(p *uagentsPeer) (model string, reply strictjson.Object) {
	p.Helper()
	select {
	case body := <-in.received:
		model, text := p.opens(gatetest.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body})
		reply, err := strictjson.DecodeObject(text)
		p.Must(err)
		return model, reply
	case <-time.After(time.Minute):
		p.Fatal("no reply arrived")
	}
	return "", nil
}

func TestRepliesAreDelivered(t *testing.T) {
	t.Parallel()
	in := uagentsOpensInbox(t)
	p := reached(t, in.URL+"/submit")
	var calls atomic.Int64
	proceed := make(chan struct{})
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		<-proceed
		fmt.Fprintf(w, `{"lamps": %d}`, calls.Add(1))
	}
	p.postpones("UIMAgree", p.agreement())
	model, reply := in.receive(p)
	token := reply.Text("pat")
	if model != "UIMAgreed" || token == "" {
		t.Fatalf("got %s %v", model, reply)
	}
	p.postpones("UIMAgree", p.agreement())
	if model, reply := in.receive(p); model != "UIMFault" || reply.Text("reason") != "AGREEMENT_REPLAYED" {
		t.Errorf("got %s %v", model, reply)
	}
	p.postpones("UIMExecute", search(token)) // accepted before the service is called
	close(proceed)
	for i := range 3 { // the same envelope is the same call, and gets the same result
		if model, reply := in.receive(p); model != "UIMResult" || reply.Object("output").Number("lamps") != "1" ||
			reply.Flag("replayed") != (i > 0) || reply.Text("request_id") != "request-1" {
			t.Errorf("got %s %v", model, reply)
		}
		p.postpones("UIMExecute", search(token))
	}
	if calls.Load() != 1 {
		t.Errorf("got %d calls, want 1", calls.Load())
	}
	in.receive(p) // the reply to the last one
	for model, want := range map[string]string{"Nobody": "ErrorMessage", "HealthCheck": "AgentHealth", "UIMSearch": "UIMIntents"} {
		p.postpones(model, "{}")
		if model, reply := in.receive(p); model != want {
			t.Errorf("%s %v, want %s", model, reply, want)
		}
	}
	p.Drain()
	if n := p.Logs.FilterMessage("postponed reply ended").FilterField(zap.String("became", "delivered")).Len(); n != 9 {
		t.Errorf("got %d lines of the log, want 9", n)
	}
	named := 0
	for _, e := range p.Logs.FilterMessage("postponed reply ended").All() {
		text := fmt.Sprint(e.ContextMap())
		if strings.Contains(text, token) || strings.Contains(text, "lamp") {
			t.Errorf("the log contains a secret: %s", text)
		}
		if e.ContextMap()["request_id"] == "request-1" && e.ContextMap()["door"] == "uagents" && e.ContextMap()["route"] == "/submit" {
			named++
		}
	}
	if named != 4 {
		t.Errorf("%d calls in the log name the door, want 4", named)
	}
}

func TestWhatIsNotPostponed(t *testing.T) {
	t.Parallel()
	in := uagentsOpensInbox(t)
	p := reached(t, in.URL)
	good := p.unsigned("UIMPolicyRequest", "{}")
	changed := func(change func(*envelope.Envelope)) envelope.Envelope {
		e := good
		change(&e)
		return e.Sign(p.key)
	}
	for name, c := range map[string]struct {
		sent envelope.Envelope
		text string
	}{
		"expired": {changed(func(e *envelope.Envelope) { e.Expires = at(p, -1) }), "Query envelope expired"},
		"an agreement that is": {func() envelope.Envelope {
			e := p.unsigned("UIMAgree", p.agreement())
			e.Expires = at(p, 0)
			return e.Sign(p.key)
		}(), "Query envelope expired"},
		"too far ahead":       {changed(func(e *envelope.Envelope) { e.Expires = at(p, 25*3600) }), "The envelope expires more than 24h0m0s in the future."},
		"no message":          {changed(func(e *envelope.Envelope) { e.Payload = "" }), "unable to decode payload"},
		"of an unknown agent": {good.Sign(keyOf(t, "bob recovery password")), "asynchronous envelopes are not answered here"},
		"not signed":          {good, "Envelope signature is missing"},
	} {
		var reply struct{ Error, Detail string }
		a := p.post(c.sent)
		if err := json.Unmarshal(a.Body, &reply); err != nil || a.Status != http.StatusBadRequest || reply.Error != c.text {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, c.text)
		}
	}
	p.postpones("UIMPolicyRequest", "{}") // all of the above differ from this in one thing
	if model, _ := in.receive(p); model != "UIMPolicy" || len(in.received) != 0 {
		t.Errorf("%s, and %d more", model, len(in.received))
	}
}

// Senders share the places, and an approved agent gets one when unapproved agents have taken all of theirs.
func TestFloodsOfEnvelopes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hanging.Close)
	in := uagentsOpensInbox(t)
	var rules strings.Builder
	for i := range 20 {
		fmt.Fprintf(&rules, "%s: %q, ", keyOf(t, "stranger "+strconv.Itoa(i)).Address(), hanging.URL)
	}
	p := with(t, fmt.Sprintf("rules: {%s %s: %q}", rules.String(), keyOf(t, "alice recovery password").Address(), in.URL))
	defer close(release)
	p.agreed()
	p.Must(p.Store.SetAgent(p.Context(), pat.AgentChange{
		Service: "default", ID: pat.AgentID(p.key.Address()), Status: pat.AgentActive, Approved: true,
	}))
	taken := 0
	for i := range 20 {
		key, shed := keyOf(t, "stranger "+strconv.Itoa(i)), 0
		for shed == 0 {
			a := p.post(p.unsigned("UIMPolicyRequest", "{}").Sign(key))
			switch {
			case a.Status == http.StatusOK:
				taken++
			case a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
				!strings.Contains(string(a.Body), "too many envelopes are waiting"):
				t.Fatalf("got %d %v %s", a.Status, a.Header, a.Body)
			default:
				shed++
			}
		}
		if i == 0 && taken > 512 {
			t.Errorf("one sender holds %d places", taken)
		}
	}
	if taken != 768 {
		t.Errorf("strangers hold %d places, want 768", taken)
	}
	if n := p.counted("uimgate_shed_total", "envelopes"); n != 20 {
		t.Errorf("%v are counted as shed", n)
	}
	p.postpones("UIMPolicyRequest", "{}")
	if model, _ := in.receive(p); model != "UIMPolicy" {
		t.Errorf("got %q, want %q", model, "UIMPolicy")
	}
	p.key = keyOf(t, "stranger 0")
	if model, _ := p.ask("UIMPolicyRequest", "{}"); model != "UIMPolicy" { // a synchronous envelope gets its reply at once
		t.Errorf("got %q, want %q", model, "UIMPolicy")
	}
}

// The gateway uses the endpoints in an Almanac, but not those in its own network, unless the operator permits them.
func TestEndpointsOfAnAlmanac(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record string // of the Almanac; URL is the agent's endpoint
		status int
		more   string
		became string
	}{
		"an endpoint":                      {`{"address": "SENDER", "expiry": "2030-01-01T00:00:00+00:00", "endpoints": [{"url": "URL", "weight": 1}]}`, 200, "private_endpoints: true", "delivered"},
		"a private endpoint":               {`{"address": "SENDER", "expiry": "2030-01-01T00:00:00+00:00", "endpoints": [{"url": "URL", "weight": 1}]}`, 200, "", "refused"},
		"the metadata endpoint of a cloud": {`{"address": "SENDER", "expiry": "2030-01-01T00:00:00+00:00", "endpoints": [{"url": "http://169.254.169.254/", "weight": 1}]}`, 200, "", "refused"},
		"no expiry":                        {`{"address": "SENDER", "expiry": null, "endpoints": [{"url": "URL", "weight": 1}]}`, 200, "private_endpoints: true", "no_endpoint"},
		"another agent":                    {`{"address": "agent1", "expiry": "2030", "endpoints": [{"url": "URL", "weight": 1}]}`, 200, "private_endpoints: true", "no_endpoint"},
		"nobody":                           {`{"detail": "agent not found"}`, 404, "private_endpoints: true", "no_endpoint"},
		"a redirect":                       {``, 302, "private_endpoints: true", "no_endpoint"},
		"not JSON":                         {`{`, 200, "private_endpoints: true", "no_endpoint"},
		"no URL":                           {`{"address": "SENDER", "expiry": "2030", "endpoints": [{"url": "file:///etc/passwd"}, 7, {"url": 7}]}`, 200, "private_endpoints: true", "no_endpoint"},
		"too much":                         {strings.Repeat(" ", 1<<20), 200, "private_endpoints: true", "no_endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := uagentsOpensInbox(t)
			requested := make(chan string, 16)
			sender := string(keyOf(t, "alice recovery password").Address())
			almanac := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // other requests are registrations of the service
					requested <- r.URL.Path
				}
				w.Header().Set("Location", in.URL)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, strings.NewReplacer("URL", in.URL, "SENDER", sender).Replace(c.record))
			}))
			t.Cleanup(almanac.Close)
			p := with(t, "almanac: \""+almanac.URL+"\", "+c.more)
			switch c.became {
			case "delivered":
				p.postpones("UIMPolicyRequest", "{}")
			case "refused":
				p.unanswerable("UIMPolicyRequest", "{}", "doors.uagents.private_endpoints")
			default:
				p.unanswerable("UIMPolicyRequest", "{}", "x-uagents-connection: sync")
			}
			p.Drain()
			if n := p.counted("uimgate_answers_delivered_total", "delivered"); (n == 1) != (c.became == "delivered") {
				t.Errorf("%v were delivered", n)
			}
			if path := <-requested; path != "/v1/almanac/agents/"+sender {
				t.Errorf("got %v, want %v", path, "/v1/almanac/agents/"+sender)
			}
			if (len(in.received) == 1) != (c.became == "delivered") {
				t.Errorf("%d envelopes arrived", len(in.received))
			}
		})
	}
}

// counted returns the value of a counter whose labels include a value.
func (p *uagentsPeer) counted(name, label string) float64 {
	p.Helper()
	families, err := p.Metrics.Registry().Gather()
	p.Must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
