package bridge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Bounds of third-party text, in characters.
const (
	maxTitle       = 100
	maxDescription = 2000
	maxSentence    = 4000
	maxWords       = 8000 // of a policy
	maxNote        = 500
)

// oneLine makes third-party text fit to be shown: on one line, without control and format characters, at most most characters.
func oneLine(s string, most int) string { return shown(s, most, false) }

// severalLines is oneLine that keeps the breaks between lines.
func severalLines(s string, most int) string { return shown(s, most, true) }

func shown(s string, most int, breaks bool) string {
	s = s[:min(len(s), most*utf8.UTFMax+utf8.UTFMax)]
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && breaks:
			return r
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, s)
	if !breaks {
		s = strings.Join(strings.Fields(s), " ")
	}
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return strings.TrimSpace(s)
}

// Members of a schema by what stands below them.
var (
	schemaMaps = map[string]bool{"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true}
	data       = map[string]bool{"enum": true, "const": true, "default": true, "examples": true, "example": true}
	remarks    = map[string]bool{"title": true, "description": true, "$comment": true}
)

// schema copies a JSON Schema, its remarks bounded. Members of x-… are left out: x-mcp-header would have clients copy an argument
// into a header. MCP 2026-07-28, basic/transports/streamable-http.
func schema(v any) any {
	switch v := v.(type) {
	case strictjson.Object:
		return schema(map[string]any(v))
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			text, isText := member.(string)
			under, isMap := member.(map[string]any)
			switch {
			case strings.HasPrefix(name, "x-"):
			case remarks[name] && isText:
				out[name] = oneLine(text, maxNote)
			case data[name]:
				out[name] = member
			case schemaMaps[name] && isMap:
				named := make(map[string]any, len(under))
				for key, inner := range under {
					named[key] = schema(inner)
				}
				out[name] = named
			default:
				out[name] = schema(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = schema(item)
		}
		return out
	}
	return v
}

// maxDetails bounds the values in the details of a refusal.
const maxDetails = 2000

// details copies a tree of a service's error, its texts bounded, and not more than left values of it.
func details(v any, left *int) any {
	if *left--; *left < 0 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return severalLines(v, maxNote)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if *left > 0 {
				out[oneLine(name, maxTitle)] = details(member, left)
			}
		}
		return out
	case []any:
		out := make([]any, 0, min(len(v), maxDetails))
		for _, item := range v {
			if *left > 0 {
				out = append(out, details(item, left))
			}
		}
		return out
	}
	return v
}
