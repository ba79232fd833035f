package intents

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An Intent is one action that an agent may request from a service. It is read-only once Parse has returned it. See UIM core, section 1.1.
type Intent struct {
	UID         UID
	Name        string // intent_name: SearchProducts
	Description string
	Inputs      []Parameter // in the order of the document
	Outputs     []Parameter
	Endpoint    *Endpoint // nil if the document has none: calls then go to the execute URL of the service
	Tags        []string
	Category    string
	Version     string // as written; UID.Version is the binding version
	RateLimit   string // informative text such as 1000/hour; only the policy is binding
	Price       string // informative text such as 0.01 USD
	Retired     bool   // the gateway no longer executes the intent; ReplacedBy may name its successor
	// RetireAfter is when the gateway stops executing the intent; zero: never. Retired is true if Options.Now is not before this time.
	RetireAfter time.Time
	ReplacedBy  UID
	// Safe means that a call changes nothing, so it may be repeated. By default, it is true for the methods GET and HEAD.
	Safe bool
	// Stream means that the response may be a stream of events, which callers can receive one by one. StreamChargesFirst means that the call
	// counts as done, and is charged, with the first event, although the stream may break later; otherwise both happen at the end of the
	// stream.
	Stream, StreamChargesFirst bool
	// Timeout is how long a call may take, as the service states it in x-timeout. It is 0 if the service states no time, or one that is out of
	// bounds. Callers then wait at least UsualTimeout.
	Timeout time.Duration

	place  int              // index in the document
	raw    []byte           // the result of JSON
	moved  bool             // raw has the endpoint of Options.Endpoint
	words  map[string]int32 // with their weights; nil once the words are in the index
	inputs map[string]int
	known  []string // names of Inputs, in order
	hidden []Parameter

	declared        map[string]bool // the result of declaredMembers
	places          *place          // the result of placesOf; if nil, only Fit can find the outputs
	requiredOutputs int
}

// UsualTimeout is how long a call may take if the intent has no x-timeout.
const UsualTimeout = 10 * time.Second

// An Endpoint describes the request that executes an intent, as the operator publishes it. URL may contain {name} placeholders in path
// segments and query values; each names an input parameter.
type Endpoint struct {
	URL         string
	Method      string // uppercase
	ContentType string // the content type of the request body
	// Accept lists the media types, or ranges such as image/*, that the response may have, in lower case and separated by ", ". If it is
	// empty, the response must be JSON. Agents receive a response that is not JSON as an object with content (text or base64), content_type
	// and, for base64, content_encoding.
	Accept string
}

// RetiredAt reports whether the intent is retired at the time now.
func (i *Intent) RetiredAt(now time.Time) bool {
	return i.Retired || !i.RetireAfter.IsZero() && !now.Before(i.RetireAfter)
}

// HasBody reports whether requests with the method have a body.
func (e *Endpoint) HasBody() bool { return slices.Contains(withBody, e.Method) }

// Media returns ContentType in lower case, without parameters such as charset.
func (e *Endpoint) Media() string {
	media, _, _ := strings.Cut(e.ContentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// A Parameter is one input or output of an intent. See UIM core, section 2.2.
type Parameter struct {
	Name        string
	Type        string // string, number, integer, boolean, array, object, null, any
	Required    bool
	Description string
	Default     any // a strictjson tree; meaningful only if HasDefault
	HasDefault  bool
	// From is the JSON pointer to an output in the upstream's response; "" is the whole response. From is meaningful only if HasFrom is true.
	// Otherwise, the output is the member with the parameter's name.
	From    string
	HasFrom bool
	// Schema is the JSON Schema (2020-12) of the value, as a strictjson tree. Callers must not modify it.
	Schema strictjson.Object

	at       *schema.Path // the position of an input in the parameters object
	absent   bool         // null counts as missing
	compiled *schema.Schema
}

// JSON returns the intent as the operator wrote it, byte for byte, with these exceptions. It has the endpoint of Options.Endpoint and
// the x-timeout of Options.Timeout, if these are set. It lacks hidden inputs, and an endpoint whose URL refers to one. It also lacks
// the from members of outputs, because they describe the private response of the upstream. If only the method of the replaced or
// removed endpoint shows that the intent is safe, it has "safe": true. Callers must not modify the result.
func (i *Intent) JSON() []byte { return i.raw }

// MarshalJSON returns a copy of the result of JSON.
func (i *Intent) MarshalJSON() ([]byte, error) { return bytes.Clone(i.raw), nil }

// Input returns the input parameter with this name, unless it is hidden.
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

// hide moves the inputs with these names from Inputs to hidden, and removes them from the published text. If the URL of the endpoint refers
// to one of them, it also removes the endpoint from that text.
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
	endpoint := i.moved || i.Endpoint == nil || !slices.ContainsFunc(names, placed) // a published URL must not refer to a hidden input
	i.raw = withoutInputs(i.raw, names, endpoint, i.Safe)
}

// publishAt replaces the endpoint in the published text with a POST to a URL.
func (i *Intent) publishAt(address string) {
	i.raw, i.moved = withEndpoint(i.raw, address, i.Safe), true
}

// Fit converts a value that the operator has configured to the type of the parameter's schema, if no information is lost, and then
// validates it. The error never quotes the value.
func (p *Parameter) Fit(v any) (any, error) {
	v = p.compiled.Convert(v)
	steps := schema.NewMeter(schema.CallSteps)
	first := p.compiled.First(v, steps)
	if steps.Exhausted() {
		return nil, errors.New("takes too much work to validate")
	}
	if first != nil {
		return nil, errors.New(first.Message + within(first.Pointer))
	}
	return v, nil
}

// Content reports how strings of the parameter, or of its items, encode bytes: base64 is true if contentEncoding is base64, and mediaType
// is the contentMediaType. Bodies of type multipart/form-data and application/octet-stream carry the decoded bytes with this media type.
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

// InputSchema returns one JSON Schema (2020-12) for the whole parameters object, for protocols that describe calls that way. References
// inside parameters are rewritten for this larger schema. Each call returns a new object, and the caller may modify its top level.
func (i *Intent) InputSchema() strictjson.Object { return objectSchema(i.Inputs, false) }

// OutputSchema is like InputSchema, but for the output. It returns nil if the intent declares no outputs.
func (i *Intent) OutputSchema() strictjson.Object {
	if len(i.Outputs) == 0 {
		return nil
	}
	return objectSchema(i.Outputs, true)
}

// InputSchemaAt returns InputSchema for use inside a larger document. base is the URI fragment of the schema in that document, such as
// #/components/schemas/search; references inside the schema are rewritten accordingly.
func (i *Intent) InputSchemaAt(base string) strictjson.Object { return schemaAt(i.InputSchema(), base) }

// OutputSchemaAt is like InputSchemaAt, but for the output. It returns nil if the intent declares no outputs.
func (i *Intent) OutputSchemaAt(base string) strictjson.Object {
	if len(i.Outputs) == 0 {
		return nil
	}
	return schemaAt(i.OutputSchema(), base)
}

func schemaAt(root map[string]any, base string) map[string]any {
	moved, _ := schema.Rebase(root, base).(map[string]any) // Rebase maps an object to an object
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
