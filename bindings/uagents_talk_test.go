package bindings_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/chat"
	"github.com/uimgate/uimgate/store"
)

// chatMessage returns a ChatMessage with an id.
func chatMessage(id, text string) string {
	return fmt.Sprintf(`{"timestamp": "2026-01-02T03:04:05.123456+00:00", "msg_id": %q, "content": [{"type": "text", "text": %q}]}`, id, text)
}

// saysAs sends a text with a message id, and returns the text of the reply.
func (p *uagentsPeer) saysAs(id, text string) string {
	p.Helper()
	model, message := p.opens(p.submit(http.MethodPost, p.text(p.unsigned("ChatMessage", chatMessage(id, text)).Sign(p.key))))
	m, err := chat.Parse(message)
	if model != "ChatMessage" || err != nil {
		p.Fatalf("%q: %s %s: %v; want %q and no error", text, model, message, err, "ChatMessage")
	}
	return m.Text
}

func TestChat(t *testing.T) {
	t.Parallel()
	p := openedAs(t, strings.Replace(uagentsSettings, gatetest.Unproved+", ", "", 1))
	var calls atomic.Int64
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"lamps": %d}`, calls.Add(1)) }
	offer := p.Directory.Current().Service("default").Offer()
	order := uuid.NewString()
	for _, c := range []struct{ id, text, want string }{
		{"", "help", "run <uid> <JSON>"},
		{"", "", "run <uid> <JSON>"},
		{"", "list", gatetest.Ordering},
		{"", "list order", gatetest.Ordering},
		{"", "list of nothing that is here, xyzzy", "No intent matches"},
		{"", "I want to order a lamp", "run " + gatetest.Ordering + " {"},
		{"", "show " + gatetest.Ordering, "product (string, required)"},
		{"", "show shop.example:nothing:v1", "Send list and some words"},
		{"", "run " + gatetest.Searching + ` {"query": "lamp"}`, "Send policy"},
		{"", "policy", "agree " + offer.Digest},
		{"", "agree sha-256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Send policy"},
		{"", "agree " + offer.Digest + " but not to all of it", "without any other words"},
		{"", "agree " + offer.Digest, "You have agreed, as " + string(p.key.Address())},
		{"", "run " + gatetest.Searching + "\n" + `{"query": "lamp"}`, `"lamps": 1`},
		{"", "run " + gatetest.Searching + ` {"query": 1}`, "query"},
		{"", "run " + gatetest.Searching + ` {"query": `, "JSON"},
		{"", "run", "uid"},
		{order, "run " + gatetest.Ordering + ` {"product": "lamp"}`, "Charged: 0.25 EUR"},
		{order, "run " + gatetest.Ordering + ` {"product": "lamp"}`, `"lamps": 2`},
		{order, "run " + gatetest.Ordering + ` {"product": "two"}`, "new message"},
	} {
		id := c.id
		if id == "" {
			id = uuid.NewString()
		}
		p.Later(time.Second) // makes the envelope differ
		if got := p.saysAs(id, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q in it", c.text, got, c.want)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("got %d calls, want 2", calls.Load())
	}
}

// An agreement in a chat is evidence like UIMAgree, and can be verified later.
func TestAgreementInChat(t *testing.T) {
	t.Parallel()
	p := opened(t)
	output := "agree " + p.Directory.Current().Service("default").Offer().Digest
	e := p.unsigned("ChatMessage", chatMessage(uuid.NewString(), output))
	e.Expires = nil
	if _, message := p.opens(p.submit(http.MethodPost, p.text(e.Sign(p.key)))); !strings.Contains(string(message), "expires") {
		t.Errorf("in an envelope that never expires: %s", message)
	}
	split := strings.Replace(chatMessage(uuid.NewString(), output), "agree ", `agree"},{"type":"text","text":"`, 1)
	_, message := p.opens(p.submit(http.MethodPost, p.text(p.unsigned("ChatMessage", split).Sign(p.key))))
	if !strings.Contains(string(message), "in one item of text") {
		t.Errorf("in two items: %s", message)
	}
	e = p.unsigned("ChatMessage", chatMessage(uuid.NewString(), output)).Sign(p.key)
	for _, want := range []string{"You have agreed", "Send a new envelope"} {
		if _, message := p.opens(p.submit(http.MethodPost, p.text(e))); !strings.Contains(string(message), want) {
			t.Errorf("%s, want %q", message, want)
		}
	}
	list, err := p.Store.Agreements(p.Context(), store.AgreementFilter{Service: "default", Limit: 10})
	p.Must(err)
	if len(list) != 1 || list[0].Form != "uagents-chat" || string(list[0].AgentID) != string(p.key.Address()) {
		t.Fatalf("got %+v", list)
	}
	if model, reply := p.ask("UIMExecute", strings.Replace(search("x"), `"x"`, "null", 1)); model != "UIMResult" {
		t.Errorf("got %s %v; want %q", model, reply, "UIMResult")
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"lamps": 1}`) }
	model, reply := p.ask("ListTools", `{}`)
	var names []string
	for _, v := range reply.List("tools") {
		if one, ok := strictjson.AsObject(v); ok && one.Object("inputSchema") != nil {
			names = append(names, one.Text("name"))
		}
	}
	if model != "ListToolsResponse" || strings.Join(names, " ") != "order_v1 search_v1" {
		t.Errorf("got %s %v", model, reply)
	}
	call := func(tool, args string) string { return fmt.Sprintf(`{"tool": %q, "args": %s}`, tool, args) }
	lamp := call("search_v1", `{"query": "lamp"}`)
	if model, reply := p.ask("CallTool", lamp); model != "CallToolResponse" || !strings.Contains(reply.Text("error"), "UIMAgree") {
		t.Errorf("before any agreement: %s %v", model, reply)
	}
	p.agreed()
	for name, c := range map[string]struct{ message, member, want string }{
		"a call":               {lamp, "result", `{"lamps": 1}`},
		"a call by uid":        {call(gatetest.Searching, `{"query": "lamp"}`), "result", `{"lamps": 1}`},
		"a wrong argument":     {call("search_v1", `{"query": 1}`), "error", "/args/query"},
		"an unknown tool":      {call("serch_v1", `{}`), "error", "intent"},
		"no tool":              {`{"args": {}}`, "error", "tool"},
		"an additional member": {`{"tool": "search_v1", "args": {}, "pat": "x"}`, "error", "/pat"},
		"args that are text":   {call("search_v1", `"{}"`), "error", "args"},
	} {
		if model, reply := p.ask("CallTool", c.message); model != "CallToolResponse" || !strings.Contains(reply.Text(c.member), c.want) ||
			len(reply) != 1 {
			t.Errorf("%s: %s %v, want %s", name, model, reply, c.want)
		}
	}
}

// An asynchronous sender gets an acknowledgement before the service is called, and then the result.
func TestChatIsAcknowledgedBeforeCall(t *testing.T) {
	t.Parallel()
	in := uagentsOpensInbox(t)
	p := reached(t, in.URL+"/submit")
	proceed := make(chan struct{})
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		<-proceed
		fmt.Fprint(w, `{"lamps": 1}`)
	}
	p.agreed()
	id := uuid.NewString()
	p.postpones("ChatMessage", chatMessage(id, "run "+gatetest.Searching+` {"query": "lamp"}`))
	if model, reply := in.receive(p); model != "ChatAcknowledgement" || reply.Text("acknowledged_msg_id") != id {
		t.Errorf("got %s %v", model, reply)
	}
	close(proceed)
	if model, reply := in.receive(p); model != "ChatMessage" || !strings.Contains(fmt.Sprint(reply["content"]), `"lamps": 1`) {
		t.Errorf("got %s %v", model, reply)
	}
	ends := strings.Replace(chatMessage(uuid.NewString(), ""), `"type": "text", "text": ""`, `"type": "end-session"`, 1)
	p.postpones("ChatMessage", ends)
	if model, reply := in.receive(p); model != "ChatAcknowledgement" {
		t.Errorf("got %s %v; want %q", model, reply, "ChatAcknowledgement")
	}
}
