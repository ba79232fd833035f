// Package a2a is the door for the Agent2Agent protocol, version 1.0. Intents are skills, and a call is a task, which every process that
// shares the store can report for a day. Each service has a signed agent card. The door serves JSON-RPC at the path in its settings and
// HTTP+JSON at /v1 below that path; both bindings support the same operations.
package a2a

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// Name is the door's name in logs, metrics and audit records.
	Name = "a2a"
	// Extension is the URI of the extension for proofs, charges and limits.
	Extension = "https://uimprotocol.com/a2a/v1"

	version    = "1.0" // the protocol version. A2A 1.0, 3.6
	belowREST  = "/v1"
	mediaType  = "application/a2a+json"
	jsonType   = "application/json"
	textType   = "text/plain"
	versionKey = "A2A-Version"
)

// A Door serves the A2A paths of each service. It is safe for concurrent use.
type Door struct {
	signers  []*keys.Keyring
	watchers *watchers
	cards    door.Cache[*card]
}

// Name implements door.Module.
func (d *Door) Name() string { return Name }

// Blocks implements door.Configurable.
func (d *Door) Blocks() config.Blocks {
	return config.Blocks{Doors: []config.Block{{Key: Name, Settings: (*Settings)(nil), Doc: "Agent2Agent 1.0: intents are skills."}}}
}

// Provision implements door.Module. It opens the keys that sign agent cards.
func (d *Door) Provision(ctx context.Context, p door.Process) error {
	d.watchers = newWatchers()
	for _, algorithm := range []string{keys.EdDSA, keys.ES256} {
		signer, err := p.Keys.For(ctx, keys.ForCards, algorithm, p.Data.KeysFor(string(keys.ForCards), algorithm))
		if err != nil {
			return err
		}
		d.signers = append(d.signers, signer)
	}
	return nil
}

// Route returns the path, in which constants replace the parts that the configuration or the client chose. It returns
// "" if the path does not belong to this door.
func (d *Door) Route(s *service.Definition, path string) string {
	settings := SettingsOf(s)
	if settings == nil {
		return ""
	}
	switch own := settings.Path; {
	case path == own:
		return "/a2a"
	case path == CardPath:
		return CardPath
	case strings.HasPrefix(path, own+belowREST+"/"):
		_, _, route := restOperation("", path[len(own)+len(belowREST):])
		return "/a2a/v1" + route
	}
	return ""
}

// An exchange is one request for an operation.
type exchange struct {
	*door.Request
	d      *Door
	w      http.ResponseWriter
	r      *http.Request
	rest   bool       // HTTP+JSON; otherwise JSON-RPC
	id     jsonrpc.ID // the id of the request if it is JSON-RPC
	params strictjson.Object
	party  fairqueue.Party // the agent, among the agents of all services
	call   execute.Call    // the parameters are read later
	// outdated is set if the PAT is valid, but its policy is no longer offered. Execute refuses calls for that reason; all other operations
	// are refused with outdated.
	outdated *reason.Refusal
	stream   bool // the response to the operation is a stream
	extended bool // the client activated the extension
}

// An operation describes one operation of the protocol. A2A 1.0, 5.3.
type operation struct {
	name   string
	answer func(*exchange)
	stream bool
	sends  bool // the request contains a message
}

var operations = map[string]operation{}

func init() { //nolint:gochecknoinits // an initializer would be cyclic
	for _, o := range []operation{
		{name: "SendMessage", answer: (*exchange).send, sends: true},
		{name: "SendStreamingMessage", answer: (*exchange).send, sends: true, stream: true},
		{name: "GetTask", answer: (*exchange).getTask},
		{name: "ListTasks", answer: (*exchange).listTasks},
		{name: "CancelTask", answer: (*exchange).cancelTask},
		{name: "SubscribeToTask", answer: (*exchange).subscribe, stream: true},
		{name: "CreateTaskPushNotificationConfig", answer: (*exchange).noPush},
		{name: "GetTaskPushNotificationConfig", answer: (*exchange).noPush},
		{name: "ListTaskPushNotificationConfigs", answer: (*exchange).noPush},
		{name: "DeleteTaskPushNotificationConfig", answer: (*exchange).noPush},
		{name: "GetExtendedAgentCard", answer: (*exchange).noExtendedCard},
	} {
		operations[o.name] = o
	}
}

// Status implements door.Reporter.
func (d *Door) Status(s *service.Service) (door.Status, bool) {
	own := SettingsOf(s.Definition)
	if own == nil {
		return door.Status{}, false
	}
	return door.Status{Door: Name, Addresses: map[string]string{"url": s.At(own.Path), "card": s.At(CardPath)}}, true
}

// Serve responds to one request.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, v *door.Request) {
	own := SettingsOf(v.Service.Definition).Path
	if r.URL.Path == CardPath {
		d.serveCard(w, r, v)
		return
	}
	w.Header()["Cache-Control"] = noStore
	x := &exchange{Request: v, d: d, w: w, r: r, call: v.Call(Name), rest: r.URL.Path != own, params: strictjson.Object{}}
	x.call.Reencoded = true // outputs are data parts, which clients decode
	if x.extended = activates(r.Header); x.extended {
		w.Header().Set(extensionsKey, Extension)
	}
	name := ""
	if x.rest {
		var fail *fault
		if name, fail = x.routed(r.URL.Path[len(own)+len(belowREST):]); fail != nil {
			x.fail(fail)
			return
		}
		x.stream = operations[name].stream
	} else if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		x.refuse(reason.MethodNotAllowed.Refusal(""))
		return
	}
	if !x.identified() || !x.read(&name) || !x.speaksVersion() {
		return
	}
	o, known := operations[name]
	switch {
	case !known:
		x.fail(&fault{code: jsonrpc.MethodNotFound, message: "The method is unknown. Use a method of A2A 1.0."})
	case x.outdated != nil && !o.sends:
		x.refuse(x.outdated)
	default:
		o.answer(x)
	}
}

var noStore = []string{"no-store"}

// identified authenticates a request before its body is read. If the PAT is not accepted, it responds and returns false; if only the
// policy of the PAT is outdated, it sets x.outdated and returns true.
func (x *exchange) identified() bool {
	token, err := wire.Bearer(x.r.Header)
	if err == nil {
		x.call.Token = token
		var claims *pat.Claims
		if claims, err = x.Identify(x.r, &x.call); err == nil {
			of := claims.Principal()
			x.party = fairqueue.Party{
				Name: x.Service.ID + " " + string(of), Unapproved: x.Unapproved(x.r.Context(), of),
			}
		}
	}
	if f := refusalOf(err); f != nil {
		if f.Reason != reason.PolicyRequiresAgreement {
			x.refuse(f)
			return false
		}
		x.outdated = f
		return true
	}
	return true
}

// read reads the parameters of a request and, for JSON-RPC, the name of the operation. If the request is malformed, it responds and
// returns false.
func (x *exchange) read(name *string) bool {
	if x.rest {
		return x.readREST(*name)
	}
	data, err := wire.ReadJSON(x.r, x.Service.MaxBody)
	if err != nil {
		x.refuse(refusalOf(execute.Unsent(err)))
		return false
	}
	m, wrong := jsonrpc.Read(data)
	x.id = m.ID
	if wrong == nil && (m.Answer || m.IsNotification()) {
		wrong = &jsonrpc.Error{Code: jsonrpc.InvalidRequest, Message: "Every message must be a request with an id."}
	}
	if wrong != nil {
		x.fail(&fault{code: wrong.Code, message: wrong.Message})
		return false
	}
	*name, x.params = m.Method, m.Params
	x.stream = operations[m.Method].stream
	return true
}

// speaksVersion responds with an error and returns false unless the request uses version 1.0. A request without a version uses version 0.3.
// A2A 1.0, 3.6.2.
func (x *exchange) speaksVersion() bool {
	requested := cmp.Or(x.r.Header.Get(versionKey), x.r.URL.Query().Get(versionKey))
	if strings.TrimSpace(requested) == version {
		return true
	}
	x.fail(versionNotSupported.because("This service supports only A2A 1.0: send the header A2A-Version: 1.0."))
	return false
}

const extensionsKey = "A2A-Extensions"

// activates reports whether the client activates the extension. See A2A 1.0, topics/extensions, Extension Activation.
func activates(h http.Header) bool {
	for _, field := range h[http.CanonicalHeaderKey(extensionsKey)] {
		for uri := range strings.SplitSeq(field, ",") {
			if strings.TrimSpace(uri) == Extension {
				return true
			}
		}
	}
	return false
}

// noPush rejects the operations on push notifications.
func (x *exchange) noPush() { x.fail(pushNotSupported) }

// noExtendedCard rejects GetExtendedAgentCard: the card is the same for all clients.
func (x *exchange) noExtendedCard() {
	x.fail(unsupported.because("There is no extended card. The public agent card is the same for all clients."))
}
