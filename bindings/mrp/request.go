package mrp

import (
	"context"
	"encoding/json"

	apiwire "github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// longMember is the maximum length in bytes of each member that objectOf decodes. Agreements are the longest members.
const longMember = 64 << 10

// A request is the decoded body of a message of type wire.TypeRequest.
type request struct {
	action string
	params []byte // an object, as encoded by the sender
	// token and proof are the members uim_pat and uim_proof, next to params.
	token, proof string
}

// operations maps the door's own actions to their handlers.
var operations = map[string]func(x *exchange, ctx context.Context, r request) answer{
	actionSearch:  (*exchange).search,
	actionPolicy:  (*exchange).policy,
	actionAgree:   (*exchange).agree,
	actionRenew:   (*exchange).renew,
	actionExecute: (*exchange).execute,
}

// request handles the message as a request: one of the door's own actions, or an intent.
func (x *exchange) request(ctx context.Context) answer {
	if int64(len(x.says.Body)) > x.service.MaxBody {
		return x.refuse(reason.BodyTooLarge.Refusal(""))
	}
	held, free := x.memory(ctx)
	r, err := readRequest(held, x.says.Body)
	free()
	if err != nil {
		return x.refuse(err)
	}
	if do, ok := operations[r.action]; ok {
		return do(x, ctx, r)
	}
	if in, err := x.service.Intent(r.action); err == nil {
		return x.call(ctx, call{uid: in.ID, parameters: r.params, token: r.token, proof: r.proof})
	}
	return x.unsupported()
}

// readRequest reads the body of a request. It ignores unknown members, as the protocol requires, because a later version may add members.
// The error is a *reason.Refusal.
func readRequest(ctx context.Context, body []byte) (request, error) {
	tree, err := objectOf(ctx, body, "params")
	if err != nil {
		return request{}, err
	}
	m := apiwire.NewMembers(tree)
	r := request{action: m.Text("action", true), params: []byte("{}"), token: m.Text("uim_pat", false), proof: m.Text("uim_proof", false)}
	if raw, ok := m.Take("params"); ok {
		r.params, _ = raw.(json.RawMessage)
	}
	if !strictjson.IsObject(r.params) {
		return request{}, m.Wrong("params", "must be an object")
	}
	m.Take("response_format")
	for _, unknown := range m.Unknown() {
		delete(tree, unknown)
	}
	if err := m.Done(); err != nil {
		return request{}, err
	}
	return r, nil
}

// memory returns a context for decoding. Decoded values count against the memory budget of requests, like those of an unauthenticated
// sender, until free is called.
func (x *exchange) memory(ctx context.Context) (held context.Context, free func()) {
	share := x.a.d.Memory.Open()
	return membudget.With(ctx, share), share.Close
}

// params reads the parameters of one of the door's own actions. read takes the members, and returns an error if one is invalid. asItIs
// names a member that stays encoded; it may be empty. The error is a *reason.Refusal.
func (x *exchange) params(ctx context.Context, r request, asItIs string, read func(m *apiwire.Members) error) error {
	held, free := x.memory(ctx)
	defer free()
	tree, err := objectOf(held, r.params, asItIs)
	if err != nil {
		return err
	}
	m := apiwire.NewMembers(tree).In("/params")
	if err := read(m); err != nil {
		return err
	}
	return m.Done()
}

// objectOf reads an object strictly, and counts its values against the memory share in ctx. The member asItIs stays encoded, as a
// json.RawMessage. A member that is null counts as absent. The error is a *reason.Refusal.
func objectOf(ctx context.Context, document []byte, asItIs string) (strictjson.Object, error) {
	tree := strictjson.Object{}
	c := strictjson.Begin(document)
	defer c.End()
	for c.Open('{'); c.Member(); {
		name, raw := string(c.Name()), c.Value()
		switch {
		case raw == nil || string(raw) == "null":
		case name == asItIs:
			tree[name] = json.RawMessage(raw)
		case len(raw) > longMember:
			return nil, reason.MalformedRequest.Refusal("A member of the body is longer than 64 KiB.")
		default:
			if err := apiwire.Affords(ctx, raw); err != nil {
				return nil, err
			}
			v, err := strictjson.Decode(raw)
			if err != nil {
				return nil, apiwire.Malformed(err)
			}
			tree[name] = v
		}
	}
	if c.Complete() {
		return tree, nil
	}
	if err := apiwire.Affords(ctx, document); err != nil {
		return nil, err
	}
	if _, err := strictjson.DecodeObjectOf(document, apiwire.MaxValues); err != nil {
		return nil, apiwire.Malformed(err)
	}
	return nil, reason.MalformedRequest.Refusal("The body is not a valid JSON object.")
}

// unsupported replies to an unknown action with the list of known actions.
func (x *exchange) unsupported() answer {
	var actions []string
	for _, c := range capabilities(x.service) {
		actions = append(actions, c.Name)
	}
	return x.fault(wire.Fault{
		Code: wire.UnsupportedAction, Message: "This agent does not have that action.", Details: map[string]any{
			"actions": actions,
			"suggestion": "Find the uid of an intent with the action " + actionSearch + ". Then use the uid as the action, or pass it to " +
				actionExecute + ".",
		},
	})
}

// talk replies to a text, or to JSON with the member text, with a description of the service and of the requests that the service accepts.
// If the sender has reached chatLimit, the answer is empty.
func (x *exchange) talk(ctx context.Context) answer {
	text, form := "", mediaType(x.says.ContentType)
	if form == wire.TypeText {
		if json.Unmarshal(x.says.Body, &text) != nil {
			return x.refuse(reason.MalformedRequest.Refusal("The body of a message of type " + wire.TypeText + " must be a string."))
		}
	} else {
		held, free := x.memory(ctx)
		defer free()
		tree, err := objectOf(held, x.says.Body, "")
		if err != nil {
			return x.refuse(err)
		}
		if _, ok := tree["text"].(string); !ok {
			return x.refuse(reason.MalformedRequest.Refusal("A request must have the type " + wire.TypeRequest + " and an action."))
		}
	}
	if !x.a.chatLimit.Admit(x.received.Sender.String(), x.a.d.Now()) {
		return answer{} // otherwise two agents could reply to each other forever
	}
	message := help(x.service)
	if form == wire.TypeText {
		body, err := strictjson.Append(nil, message)
		if err != nil {
			return answer{}
		}
		return answer{wire.TypeText, body}
	}
	w := strictjson.NewWriter(nil)
	w.Text("text", message)
	body, err := w.End()
	if err != nil {
		return answer{}
	}
	return answer{wire.TypeJSON, body}
}
