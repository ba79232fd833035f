package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/reason"
)

// A Violation describes one fault in the parameters of a call. It never contains the value that was sent.
type Violation struct {
	Pointer string        `json:"pointer"` // RFC 6901, from the parameters object
	Keyword string        `json:"keyword"` // the violated keyword of JSON Schema
	Reason  reason.Reason `json:"reason"`
	Message string        `json:"message"`
	Limit   any           `json:"limit,omitempty"`   // the exact value of the keyword; long lists are truncated
	Nearest string        `json:"nearest,omitempty"` // the declared name that is most similar to the name that was sent
	Known   []string      `json:"known,omitempty"`   // the declared names; only the violation for the first unknown parameter has them
}

func (v Violation) String() string { return v.Pointer + ": " + v.Message }

// maxListed is the maximum number of values of an enum that a response repeats.
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
	"minContains":   {reason.ParameterTooShort, "must contain at least %v matching items"},
	"maxContains":   {reason.ParameterTooLong, "must contain at most %v matching items"},
	"minimum":       {reason.ParameterOutOfRange, "must be at least %v"}, "maximum": {reason.ParameterOutOfRange, "must be at most %v"},
	"exclusiveMinimum": {reason.ParameterOutOfRange, "must be above %v"}, "exclusiveMaximum": {reason.ParameterOutOfRange, "must be below %v"},
	"multipleOf":  {reason.ParameterOutOfRange, "must be a multiple of %v"},
	"uniqueItems": {reason.InvalidParameter, "must not contain duplicate items"},
	"contains":    {reason.InvalidParameter, "must contain a matching item"},
	"not":         {reason.InvalidParameter, "matches a schema that is not allowed"},
	"anyOf":       {reason.InvalidParameter, "must match at least one of the allowed schemas"},
	"oneOf":       {reason.InvalidParameter, "must match exactly one of the allowed schemas"},
}

// violated returns the violation of one keyword.
func violated(keyword string, limit any, at string) Violation {
	v := Violation{Pointer: at, Keyword: keyword, Reason: reason.InvalidParameter, Message: "does not match the schema"}
	if b, ok := broken[keyword]; ok {
		v.Reason, v.Message = b.reason, b.message
		if strings.Contains(b.message, "%v") {
			v.Limit = limit
			text := limitText(v.Limit)
			v.Message = fmt.Sprintf(b.message, text)
			if text == "1" { // 1 character
				v.Message = strings.TrimSuffix(v.Message, "s")
			}
		}
	}
	return v
}

// limitFor returns the limit of a keyword for a response: the value of the keyword, with null added if the schema also accepts null.
func (c *check) limitFor(keyword string) any {
	limit := c.doc[keyword]
	switch {
	case keyword == "type" && c.nullable:
		if list, ok := limit.([]any); ok {
			return append(slices.Clone(list), "null")
		}
		return []any{limit, "null"}
	case keyword == "enum":
		list, _ := limit.([]any)
		if c.nullable {
			list = append(slices.Clone(list), nil)
		}
		return cutList(list)
	}
	return limit
}

func cutList(list []any) []any { return list[:min(len(list), maxListed):min(len(list), maxListed)] }

// limitText formats a limit for a message.
func limitText(limit any) string {
	const most = 200
	if s, ok := limit.(string); ok {
		return finding.Excerpt(s)
	}
	text, err := json.Marshal(limit)
	if err != nil || len(text) > most {
		return "the values in the schema"
	}
	return string(text)
}
