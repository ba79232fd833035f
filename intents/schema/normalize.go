package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

const (
	maxSchemaDepth = 32   // schemas inside schemas
	maxSchemas     = 2000 // schemas of one parameter
	maxReferring   = 500  // schemas of one parameter, if the parameter contains a $ref
	maxPattern     = 2000 // bytes of one pattern
	maxCount       = 1 << 30
)

var types = []string{"string", "number", "integer", "boolean", "array", "object", "null", "any"}

// A walker checks the schema of one parameter and copies it into the normal form for compiling. In this form, plain JSON Schema replaces
// the UIM type any and the OpenAPI keyword nullable.
type walker struct {
	*finding.List
	at      string            // the position of the parameter in the document
	schemas map[string]bool   // the positions of all schemas in the parameter
	refs    map[string]string // the target of each reference, by the position of its schema
	parents map[string]string // the position of each reference in the document, for messages
	count   int
}

// normalize checks a schema and returns its normal form. inside is the position of the schema in the parameter after constraints was merged
// into it, and outside is the position of the schema in the document.
func (w *walker) normalize(schema any, inside, outside string, depth int) any {
	w.count++
	switch {
	case depth > maxSchemaDepth:
		w.Hard("schema", outside, "schemas are nested deeper than %d levels", maxSchemaDepth)
		return true
	case w.count == maxSchemas+1:
		w.Hard("schema", w.at, "the parameter contains more than %d schemas", maxSchemas)
		return true
	case w.count > maxSchemas:
		return true
	}
	w.schemas[inside] = true
	switch schema := schema.(type) {
	case bool:
		return schema
	case map[string]any:
		return w.object(schema, inside, outside, depth)
	default:
		w.Hard("schema", outside, "a schema must be an object, true or false, not %s", finding.Article(strictjson.Kind(schema)))
		return true
	}
}

func (w *walker) object(schema map[string]any, inside, outside string, depth int) map[string]any {
	out := make(map[string]any, len(schema))
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		v := schema[name]
		here, there := inside+finding.Pointer(name), outside+finding.Pointer(name)
		kind, ok := keywords[name]
		switch {
		case forbidden[name]:
			w.Hard("schema", there, "%s is not allowed in a parameter: use $ref with a target inside the parameter, such as #/$defs/name", name)
		case !ok && strings.HasPrefix(name, "x-"):
		case !ok && !w.Strict:
		case !ok:
			w.Soft("unknown-keyword", there, "%s is not a JSON Schema keyword%s", finding.Excerpt(name), suggestKeyword(name))
		default:
			if fresh, ok := w.keyword(name, kind, v, here, there, depth); ok {
				out[name] = fresh
			}
		}
	}
	if nullable, _ := out["nullable"].(bool); nullable {
		allowNull(out)
	}
	delete(out, "nullable")
	return out
}

func suggestKeyword(name string) string {
	if n := suggest.Name(name, keywordNames); n != "" {
		return ": did you mean " + n + "?"
	}
	return "; names of extensions must start with x-"
}

// allowNull adds null to type and enum, which is the meaning of nullable in OpenAPI 3.0.
func allowNull(schema map[string]any) {
	switch t := schema["type"].(type) {
	case string:
		if t != "null" {
			schema["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			schema["type"] = append(slices.Clone(t), "null")
		}
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(kindsOf(enum), "null") {
		schema["enum"] = append(slices.Clone(enum), nil)
	}
}

func kindsOf(list []any) []string {
	kinds := make([]string, len(list))
	for i, v := range list {
		kinds[i] = strictjson.Kind(v)
	}
	return kinds
}

// keyword checks one keyword and returns its value in normal form. It returns false if the normal form does not have the keyword, for
// example because its value is invalid.
func (w *walker) keyword(name string, kind valueKind, v any, inside, outside string, depth int) (any, bool) {
	if reason := wrongValue(kind, v); reason != "" && annotations[name] {
		w.Soft("schema", outside, "%s must be %s", name, reason)
		return nil, false
	} else if reason != "" {
		w.Hard("schema", outside, "%s must be %s", name, reason)
		return nil, false
	}
	switch kind {
	case schemaValue:
		return w.normalize(v, inside, outside, depth+1), true
	case schemasValue:
		list := make([]any, len(v.([]any))) //nolint:forcetypeassert // wrongValue has checked the type
		for i, sub := range v.([]any) {     //nolint:forcetypeassert // wrongValue has checked the type
			step := "/" + strconv.Itoa(i)
			list[i] = w.normalize(sub, inside+step, outside+step, depth+1)
		}
		return list, true
	case schemaMapValue, patternsValue:
		object, _ := v.(map[string]any)
		out := make(map[string]any, len(object))
		for _, key := range slices.Sorted(maps.Keys(object)) {
			step := finding.Pointer(key)
			if kind == patternsValue {
				w.pattern(key, outside+step)
			}
			out[key] = w.normalize(object[key], inside+step, outside+step, depth+1)
		}
		return out, true
	case patternValue:
		s, _ := v.(string)
		return v, w.pattern(s, outside)
	case formatValue:
		s, _ := v.(string)
		if formats[s] == nil {
			w.Soft("unknown-format", outside, "the format %s is unknown%s", finding.Excerpt(s), suggestFormat(s))
			return nil, false
		}
		return v, true
	case typeValue:
		return w.typeOf(v, outside)
	case refValue:
		s, _ := v.(string)
		return w.ref(s, inside, outside)
	default:
		return v, true
	}
}

func suggestFormat(s string) string {
	known := slices.Sorted(maps.Keys(formats))
	if n := suggest.Name(s, known); n != "" {
		return ": did you mean " + n + "?"
	}
	return ": use one of " + strings.Join(known, ", ")
}

// pattern reports whether a regular expression is valid, and otherwise adds a problem. The message distinguishes ECMAScript syntax that RE2
// does not support from invalid syntax.
func (w *walker) pattern(s, at string) bool {
	if len(s) > maxPattern {
		w.Hard("pattern", at, "the pattern is longer than %d bytes", maxPattern)
		return false
	}
	_, err := regexp.Compile(s)
	if err == nil {
		return true
	}
	reason := "not a regular expression"
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		reason = string(bad.Code)
		if bad.Code == syntax.ErrInvalidPerlOp || bad.Code == syntax.ErrInvalidEscape {
			reason += " " + finding.Excerpt(bad.Expr) + ": look-around, back-references and \\u escapes exist only in ECMAScript; use RE2 syntax"
		}
	}
	w.Hard("pattern", at, "the pattern is invalid: %s", reason)
	return false
}

func (w *walker) typeOf(v any, at string) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]any, 0, len(list))
	for _, t := range list {
		s, ok := t.(string)
		switch {
		case !ok || !slices.Contains(types, s):
			name := finding.Excerpt(fmt.Sprint(t))
			if ok {
				w.Soft("unknown-type", at, "the type %s is unknown%s", name, finding.Suggestion(s, types))
			} else {
				w.Hard("schema", at, "a type must be a string, not %s", finding.Article(strictjson.Kind(t)))
			}
			return nil, false
		case s == "any":
			return nil, false
		case slices.Contains(out, any(s)):
			w.Soft("schema", at, "type contains %s twice", s)
		default:
			out = append(out, s)
		}
	}
	if len(out) == 1 {
		return out[0], true
	}
	return out, true
}

// ref checks that a reference points inside the parameter, records it, and returns it in the form that the library can resolve. It returns
// false for any other reference, which is a problem.
func (w *walker) ref(s, inside, outside string) (any, bool) {
	target, ok := strings.CutPrefix(s, "#")
	target, err := url.PathUnescape(target)
	if !ok || err != nil || target != "" && (target[0] != '/' || !IsPointer(target)) {
		w.Hard("remote-ref", outside, "$ref must point inside the parameter, as #/$defs/name does: %s is never loaded", finding.Excerpt(s))
		return nil, false
	}
	holder := strings.TrimSuffix(inside, "/$ref")
	w.refs[holder] = target
	w.parents[holder] = outside
	return "#" + fragmentOf(target), true
}

// fragmentOf escapes a JSON pointer for use as a URI fragment, in the form that the library can resolve.
func fragmentOf(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		tokens[i] = url.PathEscape(t)
	}
	return strings.Join(tokens, "/")
}

// Fragment escapes a name for use as one token of a JSON pointer in a URI fragment (RFC 6901 section 6).
func Fragment(token string) string { return url.PathEscape(strictjson.Escape(token)) }

// wrongValue returns "" if v is a value of this kind, and otherwise a description of the kind. It does not check the contents of schemas
// and names of types.
func wrongValue(kind valueKind, v any) string {
	switch kind {
	case textValue, patternValue, formatValue, refValue:
		return unless(is[string](v), "a string")
	case boolValue:
		return unless(is[bool](v), "true or false")
	case numberValue:
		return unless(is[json.Number](v), "a number")
	case positiveValue:
		n, ok := v.(json.Number)
		r, isNumber := new(big.Rat).SetString(string(n))
		return unless(ok && isNumber && r.Sign() > 0, "a number greater than 0")
	case countValue:
		return unless(isCount(v), fmt.Sprintf("a whole number from 0 to %d", maxCount))
	case listValue:
		return unless(is[[]any](v), "a list")
	case filledValue, schemasValue:
		list, ok := v.([]any)
		return unless(ok && len(list) > 0, "a non-empty list")
	case namesValue:
		return unless(isNames(v), "a list of unique strings")
	case namesMapValue:
		m, ok := v.(map[string]any)
		for _, names := range m {
			ok = ok && isNames(names)
		}
		return unless(ok, "an object whose values are lists of unique strings")
	case schemaMapValue, patternsValue:
		return unless(is[map[string]any](v), "an object whose values are schemas")
	case typeValue:
		list, ok := v.([]any)
		return unless(is[string](v) || ok && len(list) > 0, "a string or a list of strings")
	default:
		return ""
	}
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func unless(ok bool, wanted string) string {
	if ok {
		return ""
	}
	return wanted
}

func isCount(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && r.IsInt() && r.Sign() >= 0 && r.Cmp(big.NewRat(maxCount, 1)) <= 0
}

func isNames(v any) bool {
	list, ok := v.([]any)
	if !ok {
		return false
	}
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}
