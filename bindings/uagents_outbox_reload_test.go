package bindings_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Envelopes that wait during a reload are handled by the new version of the service, under its policy and admission. If they are no longer
// addressed to the service, they are refused.
func TestWaitingEnvelopesUseCurrentService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(p *uagentsPeer)
		sent    [2]string
		want    string
		respond string
	}{
		"another policy": {
			change: func(p *uagentsPeer) {
				p.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
			},
			sent: [2]string{"UIMAgree"}, want: "UIMFault", respond: "POLICY_MISMATCH",
		},
		"another identity": {
			change: func(p *uagentsPeer) { p.Write("seed.txt", "another seed of the shop, in one line\n") },
			sent:   [2]string{"UIMPolicyRequest", "{}"}, want: "ErrorMessage", respond: "no longer available",
		},
		"a closed door": {
			change: func(p *uagentsPeer) {
				without, _, _ := strings.Cut(p.Settings, ", doors: ")
				p.Write("uimgate.yaml", without+"}\n")
			},
			sent: [2]string{"UIMPolicyRequest", "{}"}, want: "ErrorMessage", respond: "no longer available",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := uagentsOpensInbox(t)
			p := reached(t, in.URL)
			const most = 32 // the envelopes of one sender that are handled at once
			called, proceed := make(chan struct{}, most), make(chan struct{})
			p.Upstream = func(w http.ResponseWriter, _ *http.Request) {
				called <- struct{}{}
				<-proceed
				_, _ = w.Write([]byte("{}"))
			}
			token, agreement := p.agreed(), p.agreement()
			for i := range most {
				p.postpones("UIMExecute", strings.Replace(search(token), `"lamp"`, strconv.Quote(strconv.Itoa(i)), 1))
			}
			for range most {
				<-called
			}
			if c.sent[1] == "" {
				c.sent[1] = strings.Replace(agreement, `"scope": null`, `"scope": ["`+gatetest.Searching+`:execute"]`, 1)
			}
			p.postpones(c.sent[0], c.sent[1])
			c.change(p)
			p.Reload()
			close(proceed)
			for range most + 1 {
				switch model, reply := in.receive(p); {
				case model == c.want && strings.Contains(reply.Text("reason")+reply.Text("error"), c.respond):
					return
				case model == "UIMAgreed" || model == "UIMPolicy":
					t.Fatalf("got %s %v", model, reply)
				}
			}
			t.Errorf("no %s arrived", c.want)
		})
	}
}
