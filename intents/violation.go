package intents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Violation is one fault of the parameters of a call. It never contains the value that was sent.
type Violation struct {
	Pointer string        `json:"pointer"` // RFC 6901, from the parameters object
	Keyword string        `json:"keyword"` // of JSON Schema, that is broken
	Reason  reason.Reason `json:"reason"`
	Message string        `json:"message"`
	Limit   any           `json:"limit,omitempty"`   // the limit in the keyword, exactly; long lists are shortened
	Nearest string        `json:"nearest,omitempty"` // the declared name nearest to the one sent
	Known   []string      `json:"known,omitempty"`   // the declared names; of several unknown parameters only the first has them
}

func (v Violation) String() string { return v.Pointer + ": " + v.Message }

// maxListed bounds the values of an enum that are repeated in an answer.
const maxListed = 100

// broken holds the reason and the message for a violation of each keyword. %v is the limit.
var broken = map[string]struct {
	reason  reason.Reason
	message string
}{
	"type": {reason.InvalidParameter, "must be of type %v"}, "enum": {reason.InvalidEnumValue, "must be one of %v"},
	"const":  {reason.InvalidEnumValue, "must be %v"},
	"format": {reason.InvalidFormat, "must have the format %v"}, "pattern": {reason.InvalidFormat, "must match the pattern %v"},
	"minLength":     {reason.ParameterTooShort, "must have at least %v characters"},
	"maxLength":     {reason.ParameterTooLong, "must have at most %v characters"},
	"minItems":      {reason.ParameterTooShort, "must have at least %v items"},
	"maxItems":      {reason.ParameterTooLong, "must have at most %v items"},
	"minProperties": {reason.ParameterTooShort, "must have at least %v members"},
	"maxProperties": {reason.ParameterTooLong, "must have at most %v members"},
	"minContains":   {reason.ParameterTooShort, "must hold at least %v of the items asked for"},
	"maxContains":   {reason.ParameterTooLong, "must hold at most %v of the items asked for"},
	"minimum":       {reason.ParameterOutOfRange, "must be at least %v"}, "maximum": {reason.ParameterOutOfRange, "must be at most %v"},
	"exclusiveMinimum": {reason.ParameterOutOfRange, "must be above %v"}, "exclusiveMaximum": {reason.ParameterOutOfRange, "must be below %v"},
	"multipleOf":  {reason.ParameterOutOfRange, "must be a multiple of %v"},
	"uniqueItems": {reason.InvalidParameter, "must not hold an item twice"},
	"contains":    {reason.InvalidParameter, "lacks an item that is asked for"},
	"not":         {reason.InvalidParameter, "has a form that is not allowed"},
	"anyOf":       {reason.InvalidParameter, "has none of the forms allowed"},
	"oneOf":       {reason.InvalidParameter, "must have exactly one of the forms allowed"},
}

func compareViolations(a, b Violation) int {
	return cmp.Or(strings.Compare(a.Pointer, b.Pointer), strings.Compare(a.Keyword, b.Keyword), strings.Compare(a.Message, b.Message))
}

// An explanation converts the library's errors, whose texts quote values, to violations.
type explanation struct {
	doc      map[string]any // the schema
	value    any            // the value that failed
	at       string         // pointer to the value
	nullable bool
}

func (e explanation) violations(failed *jsonschema.ValidationError, r *report) []Violation {
	where := schemaPointer(failed)
	keyword := lastToken(where)
	switch {
	case len(failed.Causes) > 0 && (keyword == "anyOf" || keyword == "oneOf"):
		return e.alternatives(failed, keyword, r)
	case len(failed.Causes) > 0 && keyword != "minContains":
		var out []Violation
		for _, cause := range failed.Causes {
			out = append(out, e.violations(cause, r)...)
		}
		return out
	}
	at, _ := url.PathUnescape(failed.InstanceLocation)
	return e.leaf(where, keyword, at, r)
}

// alternatives explains the one branch whose type is that of the value, if there is only one.
func (e explanation) alternatives(failed *jsonschema.ValidationError, keyword string, r *report) []Violation {
	var meant []*jsonschema.ValidationError
	for _, branch := range failed.Causes {
		if !refusesType(branch, failed.InstanceLocation) {
			meant = append(meant, branch)
		}
	}
	if len(meant) == 1 {
		return e.violations(meant[0], r)
	}
	at, _ := url.PathUnescape(failed.InstanceLocation)
	return e.leaf(schemaPointer(failed), keyword, at, r)
}

// refusesType reports whether a branch failed at the type of the value itself.
func refusesType(branch *jsonschema.ValidationError, at string) bool {
	if len(branch.Causes) == 0 {
		return branch.InstanceLocation == at && lastToken(schemaPointer(branch)) == "type"
	}
	return slices.ContainsFunc(branch.Causes, func(c *jsonschema.ValidationError) bool { return refusesType(c, at) })
}

func (e explanation) leaf(where, keyword, at string, r *report) []Violation {
	limit, _ := strictjson.Lookup(e.doc, where)
	parent, _ := strictjson.Lookup(e.doc, where[:max(0, strings.LastIndexByte(where, '/'))])
	instance, _ := strictjson.Lookup(e.value, at)
	schema, _ := parent.(map[string]any)
	object, _ := instance.(map[string]any)
	switch {
	case keyword == "required":
		return e.missing(limit, object, at)
	case keyword == "additionalProperties" && limit == false && object != nil:
		return e.superfluous(schema, object, at, r)
	case limit == false:
		return []Violation{{Pointer: e.at + at, Keyword: keyword, Reason: reason.InvalidParameter, Message: "is not allowed"}}
	case strings.Contains(where, "/dependentRequired/"):
		return []Violation{{
			Pointer: e.at + at, Keyword: "dependentRequired", Reason: reason.MissingParameter,
			Message: "lacks a member that another of its members asks for",
		}}
	}
	if keyword == "minContains" && limit == nil {
		keyword = "contains" // without minContains it requires one item
	}
	return []Violation{violated(keyword, e.limitFor(keyword, limit), e.at+at)}
}

// violated makes the violation of one keyword.
func violated(keyword string, limit any, at string) Violation {
	v := Violation{Pointer: at, Keyword: keyword, Reason: reason.InvalidParameter, Message: "does not have the form asked for"}
	if b, ok := broken[keyword]; ok {
		v.Reason, v.Message = b.reason, b.message
		if strings.Contains(b.message, "%v") {
			v.Limit = limit
			v.Message = fmt.Sprintf(b.message, limitText(v.Limit))
		}
	}
	return v
}

func (e explanation) missing(limit any, object map[string]any, at string) []Violation {
	var out []Violation
	names, _ := limit.([]any)
	for _, n := range names {
		name, _ := n.(string)
		if _, ok := object[name]; !ok {
			out = append(out, Violation{
				Pointer: e.at + at + pointer(name), Keyword: "required", Reason: reason.MissingParameter,
				Message: "the member " + excerpt(name) + " is required",
			})
		}
	}
	return out
}

func (e explanation) superfluous(schema, object map[string]any, at string, r *report) []Violation {
	properties, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
	known := slices.Sorted(maps.Keys(properties))
	var out []Violation
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, ok := properties[name]; ok || matchesAny(patterns, name) {
			continue
		}
		if len(out) == r.most {
			break
		}
		v := unknownMember(e.at+at, name, known, r)
		v.Known = known
		out = append(out, v)
	}
	return out
}

func matchesAny(patterns map[string]any, name string) bool {
	for p := range patterns {
		if ok, err := regexp.MatchString(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// limitFor returns the limit of a keyword for an answer.
func (e explanation) limitFor(keyword string, limit any) any {
	switch {
	case keyword == "type" && e.nullable:
		if list, ok := limit.([]any); ok {
			return append(slices.Clone(list), "null")
		}
		return []any{limit, "null"}
	case keyword == "enum":
		if list, ok := limit.([]any); ok {
			return cutList(list)
		}
	}
	return limit
}

func cutList(list []any) []any { return list[:min(len(list), maxListed):min(len(list), maxListed)] }

// limitText returns a limit for a message.
func limitText(limit any) string {
	const most = 200
	if s, ok := limit.(string); ok {
		return excerpt(s)
	}
	text, err := json.Marshal(limit)
	if err != nil || len(text) > most {
		return "those the schema states"
	}
	return string(text)
}

// schemaPointer returns the JSON pointer of the place in the schema where the error arose.
func schemaPointer(e *jsonschema.ValidationError) string {
	_, fragment, _ := strings.Cut(e.AbsoluteKeywordLocation, "#")
	p, err := url.PathUnescape(fragment)
	if err != nil {
		return ""
	}
	return p
}

func lastToken(pointer string) string { return pointer[strings.LastIndexByte(pointer, '/')+1:] }
