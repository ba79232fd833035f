package door

import (
	"net/url"
	"slices"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ReadExecute reads the body of an execute call. The body may contain at most wire.MaxValues values. The Request does not refer to body.
// The error is a *reason.Refusal.
func ReadExecute(body []byte, s *service.Service) (execute.Request, error) {
	if r, ok := readPlain(body); ok {
		return r, nil
	}
	tree, err := wire.ObjectOf(body)
	if err != nil {
		return execute.Request{}, err
	}
	return ParseExecute(tree, s)
}

// shortCall is the maximum size of a body that readPlain reads, in bytes. A body of this length cannot contain more than wire.MaxValues
// values.
const shortCall = 2 << 10

// readPlain reads a body in the form of UIM core without building a tree of it. It returns false if the body is longer than shortCall, is
// invalid or has other members. ReadExecute then parses the body with ParseExecute, which reports what is wrong.
func readPlain(body []byte) (r execute.Request, ok bool) {
	if len(body) > shortCall {
		return r, false
	}
	c := strictjson.Begin(body)
	defer c.End()
	ok = true
	for c.Open('{'); ok && c.Member(); {
		switch string(c.Name()) {
		case "intent_uid":
			r.IntentUID, ok = c.Text()
		case "parameters":
			r.Parameters, ok = c.Object()
		case "proof":
			r.Proof, ok = c.Text()
		default:
			ok = false
		}
	}
	return r, ok && c.Complete() && r.IntentUID != "" && r.Parameters != nil
}

// ParseExecute reads the body of an execute call, in the form of UIM core 3.2 or in that of draft-uim-protocol-core-01, which has an intent
// object.
func ParseExecute(tree strictjson.Object, s *service.Service) (execute.Request, error) {
	outer := wire.NewMembers(tree)
	proof := outer.Text("proof", false)
	if v, ok := outer.Take("intent"); ok {
		outer.Take("context")
		intent, isObject := strictjson.AsObject(v)
		if !isObject {
			return execute.Request{}, outer.Wrong("intent", "must be an object")
		}
		inner := wire.NewMembers(intent).In("/intent")
		r := execute.Request{
			IntentUID: inner.Text("uid", true), Parameters: inner.Object("parameters"), At: inner.Pointer("parameters"), Proof: proof,
		}
		return r, parsed(s, r, outer, inner)
	}
	r := execute.Request{IntentUID: outer.Text("intent_uid", true), Parameters: outer.Object("parameters"), Proof: proof}
	return r, parsed(s, r, outer)
}

// ParseNamed reads the body of a call whose URL path names the intent. path is the intent uid as escaped in that path.
func ParseNamed(tree strictjson.Object, s *service.Service, path string) (execute.Request, error) {
	uid, err := url.PathUnescape(path)
	if err != nil {
		return execute.Request{}, reason.IntentNotFound.Refusal("The intent uid in the path has an invalid percent-encoding.")
	}
	m := wire.NewMembers(tree)
	r := execute.Request{IntentUID: uid, Proof: m.Text("proof", false), Parameters: m.Object("parameters")}
	if named := m.Text("intent_uid", false); named != "" && named != uid {
		return r, m.Wrong("intent_uid", "does not match the intent in the path")
	}
	return r, parsed(s, r, m)
}

// parsed returns an error if the objects of a body have wrong or unknown members. If there are parameters of the intent outside the
// parameters object, the error names those instead.
func parsed(s *service.Service, r execute.Request, objects ...*wire.Members) error {
	var violations []schema.Violation
	if in, err := s.Intent(r.IntentUID); err == nil {
		for _, m := range objects {
			for _, name := range m.Unknown() {
				if slices.ContainsFunc(in.Inputs, func(p intents.Parameter) bool { return p.Name == name }) {
					violations = append(violations, schema.Violation{
						Pointer: m.Pointer(name), Keyword: "additionalProperties", Reason: reason.UnknownParameter,
						Message: "is a parameter of the intent: it belongs at " + r.Pointer() + "/" + strictjson.Escape(name),
					})
				}
			}
		}
	}
	if len(violations) > 0 {
		return refusal.MisplacedParameters(violations)
	}
	for _, m := range objects {
		if err := m.Done(); err != nil {
			return err
		}
	}
	return nil
}
