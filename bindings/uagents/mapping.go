package uagents

import (
	"fmt"
	"strconv"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// A Mapping is an entry of the configuration block models: a model of the operator whose messages call an intent.
type Mapping struct {
	Intent     string            `yaml:"intent" doc:"Uid of the intent that a message calls."`
	Request    string            `yaml:"request" doc:"JSON schema of the model that agents send, as Model.schema_json() writes it. Its digest identifies the messages."`
	Response   string            `yaml:"response" doc:"JSON schema of the model of the reply."`
	Parameters map[string]string `yaml:"parameters" max:"64" doc:"Parameters of the intent: a map from the parameter to the field of the message. Empty: each field is the parameter of the same name."`
	Agreement  string            `yaml:"agreement" default:"required" enum:"required,implied" doc:"required: the sender must have agreed before. implied: a message implies an agreement to the policy, for agents that do not support UIM. Nothing is ever charged under it, and it permits only the intents of models with implied. Requires pat.freshness: optional."`
	Output     map[string]string `yaml:"output" max:"64" doc:"Fields of the reply: a map from the field to the member of the output. A field that the map does not contain gets the member of the same name. If the output is not an object, its only member is output."`
}

// A modelCall is a checked Mapping.
type modelCall struct {
	Mapping
	request, response             protocol.Model
	requestSchema, responseSchema *schema.Schema
	fields                        []string // of the response
}

// checkModels checks the models of the operator.
func (s *Settings) checkModels(b *config.BlockCheck) {
	var models []protocol.Model
	var interactions []protocol.Interaction
	s.mapped = map[envelope.ModelDigest]*modelCall{}
	for i, entry := range s.Models {
		at := modelKey(i)
		m := &modelCall{Mapping: entry}
		var err1, err2 error
		m.request, m.requestSchema, err1 = modelOf(entry.Request)
		m.response, m.responseSchema, err2 = modelOf(entry.Response)
		if err1 != nil {
			b.Errorf(at+".request", "%v", err1)
		}
		if err2 != nil {
			b.Errorf(at+".response", "%v", err2)
		}
		if entry.Intent == "" {
			b.Errorf(at+".intent", "is required")
		}
		if entry.Agreement == agreementImplied && b.Config.PAT.Freshness == config.FreshnessRequired {
			b.Errorf(at+".agreement", "pat.freshness: required permits only agreements that agents sign themselves: use required, or pat.freshness: optional")
		}
		if err1 != nil || err2 != nil {
			continue
		}
		if _, standard := protocol.NameOf(m.request.Digest); standard || s.mapped[m.request.Digest] != nil {
			b.Errorf(at+".request", "is a standard model, or the model of another entry")
			continue
		}
		tree, _ := strictjson.DecodeObject(m.response.Schema)
		for name := range tree.Object("properties") {
			m.fields = append(m.fields, name)
		}
		s.mapped[m.request.Digest] = m
		models = append(models, m.request, m.response)
		interactions = append(interactions, protocol.Interaction{Request: m.request.Digest, Responses: []envelope.ModelDigest{m.response.Digest}})
	}
	if len(interactions) == 0 {
		return
	}
	models = append(models, protocol.Standard("ErrorMessage"))
	for i := range interactions {
		interactions[i].Responses = append(interactions[i].Responses, protocol.Standard("ErrorMessage").Digest)
	}
	own, err := protocol.NewManifest("models", "1.0.0", models, interactions)
	if err != nil {
		b.Errorf("models", "%v", err)
		return
	}
	s.manifest = &own
}

// modelKey returns the key of an entry of models.
func modelKey(i int) string { return "models[" + strconv.Itoa(i) + "]" }

// modelOf reads the schema of a model.
func modelOf(text string) (protocol.Model, *schema.Schema, error) {
	m, err := protocol.NewModel([]byte(text))
	if err != nil {
		return m, nil, err
	}
	tree, err := strictjson.DecodeObject([]byte(text))
	if err != nil {
		return m, nil, err
	}
	list := &finding.List{Strict: true}
	_, compiled := schema.Read(list, tree, "", nil)
	if compiled == nil {
		return m, nil, fmt.Errorf("the schema of %s cannot be used: %v", m.Name, list.Problems)
	}
	return m, compiled, nil
}

// fits reports whether a message fits a model.
func fits(s *schema.Schema, message strictjson.Object) bool {
	steps := schema.NewMeter(schema.CallSteps)
	return s.First(map[string]any(message), steps) == nil && !steps.Exhausted()
}

// answer returns the operation that handles the messages of the model. Errors are ErrorMessages, because the sender need not know UIM.
func (m *modelCall) answer(x *exchange, message strictjson.Object) (envelope.Envelope, error) {
	fail := func(err error) (envelope.Envelope, error) {
		f := x.refused(err, advice)
		return x.explain(f, refusal.Sentence(f))
	}
	if !fits(m.requestSchema, message) {
		return fail(reason.InvalidParameter.Refusal("The message does not fit its model."))
	}
	parameters := message
	if len(m.Parameters) > 0 {
		parameters = strictjson.Object{}
		for name, field := range m.Parameters {
			if v, sent := message[field]; sent {
				parameters[name] = v
			}
		}
	}
	request := execute.Request{IntentUID: m.Intent, Parameters: parameters}
	var result execute.Result
	var err error
	if m.Agreement == agreementImplied {
		result, err = x.callImplied(request)
	} else {
		result, err = x.call("", x.messageKey(), request, nil)
	}
	if err != nil {
		return fail(err)
	}
	output, err := x.output(&result)
	if err != nil {
		return fail(err)
	}
	reply, err := m.reply(output)
	if err != nil {
		f := reason.ResponseInvalid.Refusal("The output does not fit the model of the reply.")
		return fail(f.Charged(result.Charge).With("outcome", "done"))
	}
	e := x.reply("ErrorMessage", "", reply)
	e.SchemaDigest, e.ProtocolDigest = m.response.Digest, x.settings().manifest.Digest
	return e.Sign(x.settings().key), nil
}

// reply returns the message of the response with the members of an output. It returns an error if the message would not fit the model: the
// framework's agents stop processing messages after such a message.
func (m *modelCall) reply(output []byte) ([]byte, error) {
	if !strictjson.IsObject(output) {
		output = append(append([]byte(`{"output":`), output...), '}')
	}
	tree, err := strictjson.DecodeObject(output)
	if err != nil {
		return nil, err
	}
	message := strictjson.Object{}
	for _, field := range m.fields {
		from := field
		if named, ok := m.Output[field]; ok {
			from = named
		}
		if v, has := tree[from]; has {
			message[field] = v
		}
	}
	if !fits(m.responseSchema, message) {
		return nil, protocol.ErrModel
	}
	return strictjson.Append(nil, message)
}
