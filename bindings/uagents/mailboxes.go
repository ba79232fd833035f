package uagents

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/bindings/uagents/mailbox"
	"github.com/uimgate/uimgate/internal/reason"
)

// mailboxPath is the path of the agents that have mailboxes, as at Agentverse.
const mailboxPath = "/v2/agents"

// inMailbox returns the address and the message that a path names: <address>/mailbox, or <address>/mailbox/<id>.
func inMailbox(path string) (address, id string, ok bool) {
	rest, below := strings.CutPrefix(path, mailboxPath+"/")
	address, rest, _ = strings.Cut(rest, "/")
	box, id, _ := strings.Cut(rest, "/")
	return address, id, below && box == "mailbox" && !strings.Contains(id, "/")
}

// polled responds to an agent that fetches the replies in its mailbox, or deletes one that it has fetched.
func (x *submission) polled(address, id string) {
	agent, err := mailbox.Attested(x.r.Header.Get("Authorization"), x.d.now())
	if err != nil || string(agent) != address {
		x.fail(&fault{reason.MissingToken.Refusal(""), "not authorized", "Send a valid attestation of the agent in the header Authorization: Agent attr:…"})
		return
	}
	boxes := x.d.outbox.mailboxes
	switch {
	case id == "" && x.r.Method == http.MethodGet:
		list := boxes.List(x.Service.ID, agent)
		if list == nil {
			list = []mailbox.Message{}
		}
		body, err := json.Marshal(list)
		if err == nil {
			err = x.holds(body)
		}
		if err != nil {
			x.unfound(err)
			return
		}
		x.write(http.StatusOK, body)
	case id != "" && x.r.Method == http.MethodDelete:
		if !boxes.Delete(x.Service.ID, agent, id) {
			x.fail(&fault{reason.NoSuchPath.Refusal(""), "message not found", "The mailbox has no message with this uuid."})
			return
		}
		x.write(http.StatusOK, done)
	default:
		x.header.Set("Allow", "GET, DELETE, OPTIONS")
		x.fail(&fault{reason.MethodNotAllowed.Refusal(""), "method not allowed", ""})
	}
}

// mailed reports whether the reply to an envelope is kept for its sender, because the sender has no endpoint.
func (x *exchange) mailed(to delivery.Route) bool {
	return x.settings().Mailbox && len(to.Endpoints) == 0
}

var errMailbox = errors.New("the mailbox of the agent is full")
