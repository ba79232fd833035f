package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// order maps the most important members of agents.json to their positions. All other members follow in alphabetical order.
var order = func() map[string]int {
	out := map[string]int{}
	for i, name := range []string{
		"service-info", "intent_uid", "intent_name", "name", "type", "required", "retired", "retire_after", "replaced_by", "description",
		"service_url",
		"enum", "format", "default", "input_parameters", "output_parameters", "endpoint", "url", "method", "tags", "category",
		"version", "intents",
	} {
		out[name] = i + 1
	}
	return out
}()

// encode returns the text of agents.json, with each member of an intent, and each parameter, on a separate line.
func encode(tree map[string]any) []byte {
	var b bytes.Buffer
	write(&b, tree, 0)
	b.WriteByte('\n')
	return b.Bytes()
}

const spread = 5 // number of levels that are written on several lines

func write(b *bytes.Buffer, v any, level int) {
	newline := func(level int) {
		b.WriteByte('\n')
		for range level {
			b.WriteString("  ")
		}
	}
	switch v := v.(type) {
	case map[string]any:
		wide := level < spread-1 && len(v) > 0 && !small(v)
		b.WriteByte('{')
		for i, name := range ordered(v) {
			switch {
			case i > 0 && !wide:
				b.WriteString(", ")
			case i > 0:
				b.WriteByte(',')
			}
			if wide {
				newline(level + 1)
			}
			compactJSON(b, name)
			b.WriteString(": ")
			write(b, v[name], level+1)
		}
		if wide {
			newline(level)
		}
		b.WriteByte('}')
	case []any:
		wide := level < spread && len(v) > 0 && !scalars(v)
		b.WriteByte('[')
		for i, item := range v {
			switch {
			case i > 0 && !wide:
				b.WriteString(", ")
			case i > 0:
				b.WriteByte(',')
			}
			if wide {
				newline(level + 1)
			}
			write(b, item, level+1)
		}
		if wide {
			newline(level)
		}
		b.WriteByte(']')
	default:
		compactJSON(b, v)
	}
}

// small reports whether an object, such as an endpoint, is written on one line: it has at most three members, all of them scalars.
func small(v map[string]any) bool {
	if len(v) > 3 {
		return false
	}
	return scalars(slices.Collect(maps.Values(v)))
}

func scalars(all []any) bool {
	return !slices.ContainsFunc(all, func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		default:
			return false
		}
	})
}

func ordered(m map[string]any) []string {
	last := len(order) + 1
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(cmp.Or(order[a], last), cmp.Or(order[b], last)), cmp.Compare(a, b))
	})
}

func compactJSON(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // trees contain only JSON values
		b.WriteString("null")
		return
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
}
