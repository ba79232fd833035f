package intents

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

// maxFindings bounds what is reported of one intent, and maxProblems of one catalogue.
const (
	maxFindings = 100
	maxProblems = 1000
)

// findings collects the problems of one part of a document. In strict reading they are errors; in lenient reading they
// are warnings, and unusable records whether the part must be left out.
type findings struct {
	strict   bool
	list     problem.List
	unusable bool
}

// hard reports a problem that makes the part unusable.
func (f *findings) hard(code, at, format string, args ...any) {
	f.unusable = true
	if !f.strict {
		format += " (left out)"
	}
	f.add(f.strict, code, at, format, args...)
}

// soft reports a problem that an operator must correct; lenient reading ignores it.
func (f *findings) soft(code, at, format string, args ...any) {
	f.add(f.strict, code, at, format, args...)
}

// advise warns an operator; lenient reading ignores it.
func (f *findings) advise(code, at, format string, args ...any) {
	if f.strict {
		f.add(false, code, at, format, args...)
	}
}

func (f *findings) add(isError bool, code, at, format string, args ...any) {
	if isError {
		// The bound never drops the first error, so that a list with errors always contains one.
		if len(f.list) < maxFindings || !f.list.Failed() {
			f.list.Errorf(code, at, format, args...)
		}
		return
	}
	if len(f.list) < maxFindings {
		f.list.Warnf(code, at, format, args...)
	}
}

// unknown reports members that are not in known. Members that start with x- are extensions of the operator.
func (f *findings) unknown(at string, m strictjson.Object, known []string) {
	if !f.strict {
		return
	}
	for _, name := range m.Names() {
		if slices.Contains(known, name) || strings.HasPrefix(name, "x-") {
			continue
		}
		f.soft("unknown-member", at+pointer(name), "%s is not a member known here%s", excerpt(name), suggestion(name, known))
	}
}

func suggestion(name string, known []string) string {
	if n := suggest.Name(name, known); n != "" {
		return ": did you mean " + n + "?"
	}
	return ": use one of " + strings.Join(known, ", ") + ", or a name that starts with x-"
}

// text reads an optional string member; null counts as absent.
func (f *findings) text(at string, m strictjson.Object, name string, most int) string {
	switch v := m[name].(type) {
	case nil:
		return ""
	case string:
		if utf8.RuneCountInString(v) > most {
			f.soft("too-long", at+pointer(name), "%s is longer than %d characters", name, most)
			return ""
		}
		return v
	default:
		f.soft("wrong-type", at+pointer(name), "%s must be a string, not %s", name, article(strictjson.Kind(v)))
		return ""
	}
}

// flag reads an optional boolean member.
func (f *findings) flag(at string, m strictjson.Object, name string) (value, set bool) {
	switch v := m[name].(type) {
	case nil:
		return false, false
	case bool:
		return v, true
	default:
		f.soft("wrong-type", at+pointer(name), "%s must be true or false, not %s", name, article(strictjson.Kind(v)))
		return false, false
	}
}

// texts reads an optional list of at most maxTags strings.
func (f *findings) texts(at string, m strictjson.Object, name string) []string {
	const most = maxTags
	switch v := m[name].(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, 0, min(len(v), most))
		for i, item := range v {
			if i == most {
				f.soft("too-many", at+pointer(name), "%s has more than %d entries", name, most)
				break
			}
			s, ok := item.(string)
			if !ok || utf8.RuneCountInString(s) > maxTag {
				f.soft("wrong-type", at+pointer(name, fmt.Sprint(i)), "an entry of %s must be a string of at most %d characters", name, maxTag)
				continue
			}
			out = append(out, s)
		}
		return out
	default:
		f.soft("wrong-type", at+pointer(name), "%s must be a list of strings, not %s", name, article(strictjson.Kind(v)))
		return nil
	}
}

// object reads an optional object member.
func (f *findings) object(at string, m strictjson.Object, name string) strictjson.Object {
	inner := m.Object(name)
	if v := m[name]; v != nil && inner == nil {
		f.soft("wrong-type", at+pointer(name), "%s must be an object, not %s", name, article(strictjson.Kind(v)))
	}
	return inner
}

func article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "null":
		return kind
	default:
		return "a " + kind
	}
}

// excerpt quotes a name from a document for a message, at a bounded length.
func excerpt(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
}
