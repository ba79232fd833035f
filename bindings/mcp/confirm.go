package mcp

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// urlElicitationRequired is the code of an error after which the client asks the person to open an address. MCP 2025-11-25,
// client/elicitation, URL Elicitation Required Error.
const urlElicitationRequired = -32042

// sessionHeader is the header of revisions with a handshake. The door has no sessions: the id only states what the client declared when it
// initialized. It needs no secret, because a client that forges it misleads only itself.
const (
	sessionHeader = "Mcp-Session-Id"
	opensURLs     = "url." // prefix of the ids of clients that ask people to open addresses; random characters follow
)

// declareSession sets the session id of a client that declares URL elicitation in its initialize request.
func (a *answer) declareSession() {
	capabilities, _ := strictjson.AsObject(a.Params["capabilities"])
	if hasURLMode(capabilities) {
		a.Header().Set(sessionHeader, opensURLs+rand.Text())
	}
}

func hasURLMode(capabilities strictjson.Object) bool {
	elicitation, _ := strictjson.AsObject(capabilities["elicitation"])
	_, declared := strictjson.AsObject(elicitation["url"])
	return declared
}

// opensURLs reports whether the client asks the person to open an address if the server requests it.
func (q *request) opensURLs() bool {
	if !q.revision.alone {
		return strings.HasPrefix(q.header.Get(sessionHeader), opensURLs)
	}
	capabilities, _ := strictjson.AsObject(q.meta()[metaCapabilities])
	return hasURLMode(capabilities)
}

// inputName is the name of the input request in a result, and of the input response in the repeated call.
const inputName = "confirm"

// declined reports whether the person did not open the page: the client repeats the call with that answer. MCP 2026-07-28,
// client/elicitation, Response Actions.
func (q *request) declined() bool {
	responses, _ := strictjson.AsObject(q.Params["inputResponses"])
	response, answered := strictjson.AsObject(responses[inputName])
	return answered && response["action"] != "accept"
}

// askPerson responds to a call that a person must confirm: the response requests that the client ask the person to open the page of the
// gateway. It returns false if the client does not do so, or if there is no such page. The answer of the client permits nothing: only the
// decision on the page counts. MCP 2026-07-28, basic/patterns/mrtr and client/elicitation; 2025-11-25, client/elicitation.
func (a *answer) askPerson(f *reason.Refusal) bool {
	address, _ := f.Details[execute.DetailConfirmURL].(string)
	id, _ := f.Details[execute.DetailConfirmation].(string)
	if f.Reason != reason.ConfirmationRequired || address == "" || !a.opensURLs() || a.declined() {
		return false
	}
	a.Refusal = f
	wire.WriteTaken(a.Header(), f)
	if !a.revision.alone {
		w := strictjson.NewWriter([]byte(`{"elicitations":[`))
		w.Text("mode", "url")
		w.Text("elicitationId", id)
		w.Text("url", address)
		w.Text("message", f.Message)
		a.failed(http.StatusOK, &jsonrpc.Error{Code: urlElicitationRequired, Message: f.Message, Data: append(ended(w), `]}`...)})
		return true
	}
	w := strictjson.NewWriter([]byte(`{"resultType":"input_required","inputRequests":{"` + inputName +
		`":{"method":"elicitation/create","params":`))
	w.Text("mode", "url")
	w.Text("message", f.Message)
	w.Text("url", address)
	// The state names the stored confirmation, which is bound to the agent and to the call. It gives no authority, so it is not sealed, and
	// the door does not read it.
	state := append(ended(w), `}},"requestState":"`+id+`"`...)
	a.result(append(a.metaOf(state), '}'))
	return true
}
