package bindings_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	gosched "runtime"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/mailbox"
	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// polls sends a request to a mailbox, with an attestation of the given key.
func (p *uagentsPeer) polls(method string, by identity.Key, of identity.Address, id string) (int, []byte) {
	p.Helper()
	content := binary.BigEndian.AppendUint64(by.Address().PublicKey(), uint64(p.Now().Unix()))
	content = binary.BigEndian.AppendUint64(content, uint64(p.Now().Add(time.Hour).Unix()))
	content = append(content, make([]byte, 32)...)
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+"/v2/agents/"+string(of)+"/mailbox"+id, http.NoBody)
	p.Must(err)
	r.Header.Set("Authorization", "Agent attr:"+base64.StdEncoding.EncodeToString(content)+":"+by.Sign(sha256.Sum256(content)).String())
	a := p.Send(r)
	return a.Status, a.Body
}

// fetches polls the mailbox of the agent until there is a message, deletes it, and returns it opened.
func (p *uagentsPeer) fetches() (model string, reply strictjson.Object) {
	p.Helper()
	for {
		status, body := p.polls(http.MethodGet, p.key, p.key.Address(), "")
		var list []struct {
			UUID     string
			Envelope json.RawMessage
		}
		p.Must(json.Unmarshal(body, &list))
		if status != http.StatusOK {
			p.Fatalf("got %d %s", status, body)
		}
		if len(list) == 0 {
			gosched.Gosched()
			continue
		}
		if status, body := p.polls(http.MethodDelete, p.key, p.key.Address(), "/"+list[0].UUID); status != http.StatusOK {
			p.Fatalf("got %d %s", status, body)
		}
		model, text := p.opens(gatetest.Answer{
			Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: list[0].Envelope,
		})
		reply, err := strictjson.DecodeObject(text)
		p.Must(err)
		return model, reply
	}
}

// TestAgentsWithoutEndpointPoll has an agent without an endpoint agree and call without waiting, and fetch the replies.
func TestAgentsWithoutEndpointPoll(t *testing.T) {
	t.Parallel()
	p := with(t, "mailbox: true")
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"lamps": 1}`) }
	p.postpones("UIMAgree", p.agreement())
	model, reply := p.fetches()
	token := reply.Text("pat")
	if model != "UIMAgreed" || token == "" {
		t.Fatalf("got %s %v", model, reply)
	}
	p.postpones("UIMExecute", search(token))
	if model, reply := p.fetches(); model != "UIMResult" || reply.Object("output").Number("lamps") != "1" {
		t.Errorf("got %s %v", model, reply)
	}
	if status, body := p.polls(http.MethodGet, p.key, p.key.Address(), ""); status != http.StatusOK || string(body) != "[]" {
		t.Errorf("got %d %s, want an empty mailbox", status, body)
	}
	for name, row := range map[string]struct {
		method string
		by     identity.Key
		of     identity.Address
		id     string
		want   int
	}{
		"another agent": {http.MethodGet, keyOf(t, "bob recovery password"), p.key.Address(), "", http.StatusUnauthorized},
		"no agent":      {http.MethodGet, p.key, "x", "", http.StatusUnauthorized},
		"no message":    {http.MethodDelete, p.key, p.key.Address(), "/x", http.StatusNotFound},
		"no method":     {http.MethodPost, p.key, p.key.Address(), "", http.StatusMethodNotAllowed},
		"no such path":  {http.MethodGet, p.key, p.key.Address(), "/x/y", http.StatusNotFound},
	} {
		if status, body := p.polls(row.method, row.by, row.of, row.id); status != row.want {
			t.Errorf("%s: got %d %s, want %d", name, status, body, row.want)
		}
	}
}

// TestMailboxHasSpaceForAcceptedCalls has an agent send more calls at once than its mailbox has space for. The gateway must make, and
// charge, no call whose reply would be lost.
func TestMailboxHasSpaceForAcceptedCalls(t *testing.T) {
	t.Parallel()
	p := with(t, "mailbox: true")
	answer := make(chan struct{})
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		<-answer
		fmt.Fprint(w, `{"lamps": 1}`)
	}
	p.postpones("UIMAgree", p.agreement())
	_, reply := p.fetches()
	accepted := 0
	for range mailbox.MaxMessages + 1 {
		a := p.post(p.unsigned("UIMExecute", search(reply.Text("pat"))).Sign(p.key))
		if a.Status != http.StatusOK {
			if a.Status != http.StatusServiceUnavailable {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
			break
		}
		accepted++
	}
	close(answer)
	if accepted == 0 || accepted > mailbox.MaxMessages {
		t.Fatalf("%d calls were accepted, but the mailbox has space for %d", accepted, mailbox.MaxMessages)
	}
	for range accepted {
		if model, _ := p.fetches(); model != "UIMResult" && model != "UIMFault" {
			t.Errorf("got %s", model)
		}
	}
}
