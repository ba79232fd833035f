package schema

import (
	"encoding/json"
	"fmt"
)

// convert applies lossless conversions to v and, as far as the schema permits, to the values inside it. It does not modify v.
func (c *check) convert(v any) any {
	if c == nil || !c.plain {
		return v
	}
	switch v := v.(type) {
	case string, bool, json.Number:
		return c.scalar(v)
	case []any:
		if c.items == nil || !c.items.converts() {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.items.convert(item)
		}
		return out
	case map[string]any:
		if !c.converts() {
			return v
		}
		out := make(map[string]any, len(v))
		for name, member := range v {
			if sub, ok := c.properties[name]; ok {
				out[name] = sub.convert(member)
			} else {
				out[name] = c.additional.convert(member)
			}
		}
		return out
	default:
		return v
	}
}

// converts reports whether convert could change a value.
func (c *check) converts() bool {
	return c != nil && c.plain && (c.items != nil || c.properties != nil || c.additional != nil || c.kinds != 0)
}

func (c *check) scalar(v any) any {
	want, _ := c.doc["type"].(string)
	switch v := v.(type) {
	case string:
		switch {
		case (want == "number" || want == "integer") && isNumber(v):
			return json.Number(v)
		case want == "boolean" && (v == "true" || v == "false"):
			return v == "true"
		}
	case json.Number:
		if want == "string" {
			return string(v)
		}
	case bool:
		if want == "string" {
			return fmt.Sprint(v)
		}
	}
	return v
}
