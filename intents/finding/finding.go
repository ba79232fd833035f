// Package finding collects the problems found in a part of agents.json, and reads members with simple types. Messages quote the document
// only up to a bounded length.
package finding

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

const (
	maxFindings = 100 // maximum number of problems reported for one intent, apart from an error that follows only warnings
	// MaxProblems is the maximum number of problems reported for one catalogue.
	MaxProblems = 1000
	// MaxTags is the maximum number of entries in a list of strings.
	MaxTags = 100
	maxTag  = 100 // characters of one entry
)

// A List collects the problems of one part of a document. If Strict is true, the problems are errors. Otherwise, they are warnings, and
// Unusable records whether the part must be omitted.
type List struct {
	Strict   bool
	Problems problem.List
	Unusable bool
}

// Hard adds a problem that makes the part unusable: an error, or a warning if Strict is false. at is the JSON pointer to the position of
// the problem.
func (f *List) Hard(code, at, format string, args ...any) {
	f.Unusable = true
	if !f.Strict {
		format += " (left out)"
	}
	f.add(f.Strict, code, at, format, args...)
}

// Soft adds a problem that an operator must correct: an error, or a warning if Strict is false. In the latter case, the part remains
// usable.
func (f *List) Soft(code, at, format string, args ...any) {
	f.add(f.Strict, code, at, format, args...)
}

// Advise adds a warning for an operator. It does nothing if Strict is false.
func (f *List) Advise(code, at, format string, args ...any) {
	if f.Strict {
		f.add(false, code, at, format, args...)
	}
}

func (f *List) add(isError bool, code, at, format string, args ...any) {
	if isError {
		// The bound does not apply to the first error: a part with errors must always report one.
		if len(f.Problems) < maxFindings || !f.Problems.Failed() {
			f.Problems.Errorf(code, at, format, args...)
		}
		return
	}
	if len(f.Problems) < maxFindings {
		f.Problems.Warnf(code, at, format, args...)
	}
}

// Unknown reports members that are not in known. It accepts names that start with x-, which are extensions by the operator. It does nothing
// if Strict is false.
func (f *List) Unknown(at string, m strictjson.Object, known []string) {
	if !f.Strict {
		return
	}
	for _, name := range m.Names() {
		if slices.Contains(known, name) || strings.HasPrefix(name, "x-") {
			continue
		}
		f.Soft("unknown-member", at+Pointer(name), "%s is not a known member%s", Excerpt(name), Suggestion(name, known))
	}
}

// Suggestion returns the end of a message about an unknown name: the most similar known name or, if no name is similar, all known names.
func Suggestion(name string, known []string) string {
	if n := suggest.Name(name, known); n != "" {
		return ": did you mean " + n + "?"
	}
	return ": use one of " + strings.Join(known, ", ") + ", or a name that starts with x-"
}

// Text reads an optional string member of at most maxRunes characters; null counts as absent. It returns "" if the member is absent or
// invalid; the latter is a problem.
func (f *List) Text(at string, m strictjson.Object, name string, maxRunes int) string {
	switch v := m[name].(type) {
	case nil:
		return ""
	case string:
		if utf8.RuneCountInString(v) > maxRunes {
			f.Soft("too-long", at+Pointer(name), "%s is longer than %d characters", name, maxRunes)
			return ""
		}
		return v
	default:
		f.Soft("wrong-type", at+Pointer(name), "%s must be a string, not %s", name, Article(strictjson.Kind(v)))
		return ""
	}
}

// Flag reads an optional boolean member; null counts as absent. set is false if the member is absent or invalid; the latter is a problem.
func (f *List) Flag(at string, m strictjson.Object, name string) (value, set bool) {
	switch v := m[name].(type) {
	case nil:
		return false, false
	case bool:
		return v, true
	default:
		f.Soft("wrong-type", at+Pointer(name), "%s must be true or false, not %s", name, Article(strictjson.Kind(v)))
		return false, false
	}
}

// Texts reads an optional list of at most MaxTags strings; null counts as absent. It omits invalid and excess entries, which are problems.
func (f *List) Texts(at string, m strictjson.Object, name string) []string {
	const most = MaxTags
	switch v := m[name].(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, 0, min(len(v), most))
		for i, item := range v {
			if i == most {
				f.Soft("too-many", at+Pointer(name), "%s has more than %d entries", name, most)
				break
			}
			s, ok := item.(string)
			if !ok || utf8.RuneCountInString(s) > maxTag {
				f.Soft("wrong-type", at+Pointer(name, fmt.Sprint(i)), "an entry of %s must be a string of at most %d characters", name, maxTag)
				continue
			}
			out = append(out, s)
		}
		return out
	default:
		f.Soft("wrong-type", at+Pointer(name), "%s must be a list of strings, not %s", name, Article(strictjson.Kind(v)))
		return nil
	}
}

// Object reads an optional object member; null counts as absent. It returns nil if the member is absent or invalid; the latter is a
// problem.
func (f *List) Object(at string, m strictjson.Object, name string) strictjson.Object {
	inner := m.Object(name)
	if v := m[name]; v != nil && inner == nil {
		f.Soft("wrong-type", at+Pointer(name), "%s must be an object, not %s", name, Article(strictjson.Kind(v)))
	}
	return inner
}

// Article returns the kind of a JSON value with its indefinite article, such as "an array".
func Article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "null":
		return kind
	default:
		return "a " + kind
	}
}

// Excerpt quotes a name from a document for use in a message, and truncates it if it is long.
func Excerpt(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
}

// Pointer returns the JSON pointer (RFC 6901) that consists of these tokens.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strictjson.Escape(t))
	}
	return b.String()
}
