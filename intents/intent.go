package intents

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An Intent is one action that an agent may request from a service. It is read-only once Parse has returned it. UIM core 1.1.
type Intent struct {
	UID         UID
	Name        string // intent_name: SearchProducts
	Description string
	Inputs      []Parameter // in the written order; a map of parameters in the order of its members
	Outputs     []Parameter
	Endpoint    *Endpoint // nil if the file names none: calls then go to the service's execute URL
	Tags        []string
	Category    string
	Version     string // as written; only UID.Version counts
	RateLimit   string // informative text such as 1000/hour; only the policy is binding
	Price       string // informative text such as 0.01 USD
	Retired     bool   // no longer executed; ReplacedBy may name its successor
	ReplacedBy  UID
	// Safe means that a call changes nothing, so that it may be repeated. Default: true for GET and HEAD.
	Safe bool

	place  int              // index in the document
	raw    []byte           // the member as the operator wrote it, without private members
	words  map[string]int32 // until the index has them
	inputs map[string]int
	known  []string // names of Inputs, in order
	hidden []Parameter

	declared        map[string]bool // members of responses, by declaredMembers
	places          *place          // positions of Outputs; nil: only Fit can find them
	requiredOutputs int
}

// An Endpoint is where an intent is executed, as the operator publishes it. URL may hold {name} placeholders in path segments and query
// values; each names an input parameter.
type Endpoint struct {
	URL         string
	Method      string // uppercase
	ContentType string // of the request body
	// Accept are the media types, or ranges such as image/*, that the response may have, in lowercase with ", " between them. Responses
	// that are not JSON are passed on in an object with content (text or base64), content_type and, for base64, content_encoding. Empty:
	// JSON.
	Accept string
}

// HasBody reports whether calls have a body, by the method.
func (e *Endpoint) HasBody() bool { return slices.Contains(withBody, e.Method) }

// Media returns ContentType in lowercase without parameters.
func (e *Endpoint) Media() string {
	media, _, _ := strings.Cut(e.ContentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// A Parameter is one input or output of an intent. UIM core 2.2.
type Parameter struct {
	Name        string
	Type        string // string, number, integer, boolean, array, object, null, any
	Required    bool
	Description string
	Default     any // a strictjson tree; meaningful only if HasDefault
	HasDefault  bool
	// From is the JSON pointer to an output in the upstream's response ("" is the whole response); HasFrom reports whether there is one.
	// Without one, the output is the member with the parameter's name.
	From    string
	HasFrom bool
	// Schema is the JSON Schema (2020-12) of the value, a strictjson tree: never change it.
	Schema strictjson.Object

	at       *schema.Path // of an input
	absent   bool         // null counts as missing
	compiled *schema.Schema
}

// JSON returns the intent as the operator wrote it, byte for byte, but without the from members of its outputs, which describe the
// private response of the upstream. Callers must not modify it.
func (i *Intent) JSON() []byte { return i.raw }

// MarshalJSON returns JSON.
func (i *Intent) MarshalJSON() ([]byte, error) { return bytes.Clone(i.raw), nil }

// Input returns the input parameter with this name.
func (i *Intent) Input(name string) (*Parameter, bool) {
	at, ok := i.inputs[name]
	if !ok {
		return nil, false
	}
	return &i.Inputs[at], true
}

// HiddenInput returns the input with this name that Options.Hidden has removed from Inputs.
func (i *Intent) HiddenInput(name string) (*Parameter, bool) {
	at := slices.IndexFunc(i.hidden, func(p Parameter) bool { return p.Name == name })
	if at < 0 {
		return nil, false
	}
	return &i.hidden[at], true
}

// hide removes inputs from the caller's view.
func (i *Intent) hide(names []string) {
	if len(names) == 0 {
		return
	}
	var shown []Parameter
	i.known, i.inputs = nil, map[string]int{}
	for _, p := range i.Inputs {
		if slices.Contains(names, p.Name) {
			i.hidden = append(i.hidden, p)
			continue
		}
		i.inputs[p.Name] = len(shown)
		shown, i.known = append(shown, p), append(i.known, p.Name)
	}
	i.Inputs = shown
	placed := func(name string) bool { return strings.Contains(i.Endpoint.URL, "{"+name+"}") }
	endpoint := i.Endpoint == nil || !slices.ContainsFunc(names, placed) // otherwise readers would look for the parameter
	i.raw = withoutInputs(i.raw, names, endpoint, i.Safe)
}

// Fit converts an operator's value to the type of the parameter's schema, if that is lossless. The error describes the problem, and never
// quotes the value.
func (p *Parameter) Fit(v any) (any, error) {
	v = p.compiled.Convert(v)
	steps := schema.NewMeter(schema.CallSteps)
	first := p.compiled.First(v, steps)
	if steps.Exhausted() {
		return nil, errors.New("takes too much work to check")
	}
	if first != nil {
		return nil, errors.New(first.Message + within(first.Pointer))
	}
	return v, nil
}

// Content reports how strings of the parameter, or of its items, encode bytes: base64 if contentEncoding has that, and the
// contentMediaType. Bodies of multipart/form-data and application/octet-stream carry the bytes and this media type.
func (p *Parameter) Content() (base64 bool, mediaType string) {
	value := map[string]any(p.Schema)
	if inner, _, ok := schema.Nullable(value); ok {
		value, _ = inner.(map[string]any)
	}
	if items, ok := value["items"].(map[string]any); ok {
		value = items
	}
	mediaType, _ = value["contentMediaType"].(string)
	return value["contentEncoding"] == "base64", mediaType
}

// InputSchema returns one JSON Schema (2020-12) for the whole parameters object, for protocols that describe calls that way. It is made
// anew for each call and the caller may modify it at its top level. References inside parameters are rewritten for the larger document.
func (i *Intent) InputSchema() strictjson.Object { return objectSchema(i.Inputs, false) }

// OutputSchema is InputSchema for the response; nil if the intent declares no outputs.
func (i *Intent) OutputSchema() strictjson.Object {
	if len(i.Outputs) == 0 {
		return nil
	}
	return objectSchema(i.Outputs, true)
}

// InputSchemaAt is InputSchema for a place inside a larger document: base is the fragment of the place of the schema, such as
// #/components/schemas/search. References inside the schema are rewritten accordingly.
func (i *Intent) InputSchemaAt(base string) strictjson.Object { return schemaAt(i.InputSchema(), base) }

// OutputSchemaAt is OutputSchema for a place inside a larger document; nil if the intent declares no outputs.
func (i *Intent) OutputSchemaAt(base string) strictjson.Object {
	if len(i.Outputs) == 0 {
		return nil
	}
	return schemaAt(i.OutputSchema(), base)
}

func schemaAt(root map[string]any, base string) map[string]any {
	moved, _ := schema.Rebase(root, base).(map[string]any) // an object stays one
	return moved
}

func objectSchema(parameters []Parameter, open bool) map[string]any {
	properties := make(map[string]any, len(parameters))
	required := []any{}
	for _, p := range parameters {
		properties[p.Name] = schema.Rebase(map[string]any(p.Schema), "#/properties/"+schema.Fragment(p.Name))
		if p.Required {
			required = append(required, p.Name)
		}
	}
	root := map[string]any{"type": "object", "properties": properties}
	if !open {
		root["additionalProperties"] = false
	}
	if len(required) > 0 {
		root["required"] = required
	}
	return root
}
