package bindings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// someone is a user, which has no key.
const someone = "user1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0sxs5jpk"

// asUser sends a message of a user, and returns the model and the message of the reply.
func (p *uagentsPeer) asUser(model, message string, header ...string) (status int, answer, told string) {
	p.Helper()
	e := p.unsigned(model, message)
	e.Sender = someone
	a := p.submit(http.MethodPost, p.text(e), header...)
	got, err := envelope.Parse(a.Body)
	if err != nil {
		return a.Status, "", string(a.Body)
	}
	if err := got.Verify(); err != nil || got.Sender != p.shop || got.Target != someone {
		p.Errorf("%+v: %v; want no error, Sender %v and Target %v", got, err, p.shop, someone)
	}
	text, err := got.Message()
	p.Must(err)
	answer, _ = protocol.NameOf(got.SchemaDigest)
	return a.Status, answer, string(text)
}

// The identity of a user cannot be verified, so it can read only public information, and only if the operator permits it.
func TestUsersReadPublicInformation(t *testing.T) {
	t.Parallel()
	p := opened(t)
	if status, _, got := p.asUser("UIMPolicyRequest", "{}"); status != http.StatusBadRequest || !strings.Contains(got, "unverified senders") {
		t.Errorf("by default: %d %s; want %v, a text that contains %q", status, got, http.StatusBadRequest, "unverified senders")
	}
	p = with(t, "unsigned: true, registry: true")
	p.agreed()
	say := func(text string) string { return chatMessage(uuid.NewString(), text) }
	digest := p.Directory.Current().Service("default").Offer().Digest
	for name, c := range map[string]struct{ model, message, answer, respond string }{
		"health":                  {"HealthCheck", "{}", "AgentHealth", "healthy"},
		"a search":                {"UIMSearch", `{"query": "order"}`, "UIMIntents", "order"},
		"the policy":              {"UIMPolicyRequest", "{}", "UIMPolicy", digest},
		"tools":                   {"ListTools", "{}", "ListToolsResponse", "search_v1"},
		"a chat message":          {"ChatMessage", say("list"), "ChatMessage", "shop.example:order:v1"},
		"agreeing":                {"UIMAgree", p.agreement(), "UIMFault", "POLICY_REQUIRES_VERIFICATION"},
		"a chat message in words": {"ChatMessage", say("agree " + digest), "ChatMessage", "A user can neither agree nor call"},
		"renewing":                {"UIMRenew", "{}", "UIMFault", "POLICY_REQUIRES_VERIFICATION"},
		"a call":                  {"UIMExecute", search(p.Agreed("agent-2").Token), "UIMFault", "POLICY_REQUIRES_VERIFICATION"},
		"another":                 {"UIMExecute", search(""), "UIMFault", "POLICY_REQUIRES_VERIFICATION"},
		"a tool":                  {"CallTool", `{"tool": "search_v1", "args": {"query": "lamp"}}`, "CallToolResponse", "A user can neither agree nor call"},
		"run":                     {"ChatMessage", say(`run shop.example:search:v1 {"query": "lamp"}`), "ChatMessage", "A user can neither agree nor call"},
		"not waiting":             {"UIMPolicyRequest", "{}", "", "x-uagents-connection: sync"},
	} {
		header := []string{}
		if name == "not waiting" {
			header = []string{"X-Uagents-Connection", ""}
		}
		if _, answer, got := p.asUser(c.model, c.message, header...); answer != c.answer || !strings.Contains(got, c.respond) {
			t.Errorf("%s: %s %s, want %s %s", name, answer, got, c.answer, c.respond)
		}
	}
}
