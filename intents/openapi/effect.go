package openapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// An effect classifies the effect of a call, as far as the document describes it.
type effect struct {
	reads bool // a call changes nothing
	// delicate means that the operation concerns access or destroys data. By default, such an operation is offered only if a person names it.
	delicate bool
	// internal is the tag or path that shows that the operation is for the operator of the service and not for its users, such as /admin. By
	// default, such an operation is offered only if a person selects it. Empty: none.
	internal string
}

// Words in names, in lower case. If a delicate or writing word is misinterpreted, an operation that could be offered is hidden.
var (
	delicateWords = wordSet("login logout signin signout oauth oauth2 authorize token tokens password passwords delete uninstall")
	searchWords   = wordSet("search query find list lookup get count filter")
	writingWords  = wordSet(`accept activate add apply approve archive assign attach authorize book buy cancel change charge clear close
		commit confirm copy create deactivate disable enable exchange execute generate import insert invite invoke issue join kick leave link
		lock mark merge move open order pay place post publish purge push put refund register reject remove rename replace request
		reset restart restore revoke rotate run save send set sign start stop submit subscribe sync transfer trigger unlink unlock
		unsubscribe update upload upsert write`)
	// operatorWords are names for interfaces of operators. A path segment or a tag counts if it begins with one of them, as in admin-api.
	operatorWords = wordSet("admin administration internal debug actuator")
	// operatorParts are names of such interfaces that have another meaning in longer names. A path segment or a tag counts if it is one of
	// them.
	operatorParts = wordSet(`stats statistics metrics prometheus health healthz healthcheck livez liveness readyz readiness pprof diagnostics
		heapdump threaddump`)
	readHints = []string{"x-read-only", "x-readonly", "x-safe"}
)

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(s) {
		out[word] = true
	}
	return out
}

// effectOf classifies one operation by its method, its operationId, its path, its responses, and extensions in the document.
func (w *work) effectOf(op *operation) effect {
	name, segments := words(op.id), strings.Split(pathParameter().ReplaceAllString(op.path, ""), "/")
	segments = slices.DeleteFunc(segments, func(s string) bool { return s == "" })
	var route []string
	for _, segment := range segments {
		route = append(route, words(segment)...)
	}
	has := func(set map[string]bool) bool {
		return slices.ContainsFunc(slices.Concat(name, route), func(word string) bool { return set[word] })
	}
	e := effect{internal: internalPart(op, segments), delicate: op.method == "DELETE" || has(delicateWords)}
	var last []string
	if len(segments) > 0 && !strings.HasSuffix(op.path, "}") {
		last = words(segments[len(segments)-1])
	}
	verb := func(set map[string]bool) bool {
		return len(name) > 1 && set[name[0]] || len(last) == 1 && len(segments) > 1 && set[last[0]]
	}
	writes := verb(writingWords) || writingWords[verbBehind(op.id)] || writingWords[verbBehind(op.path)]
	hinted, stated := w.readHint(op)
	switch {
	case stated && !hinted:
	case op.method == "GET" || op.method == "HEAD":
		e.reads = hinted || !writes
	case op.method == "POST":
		e.reads = hinted || verb(searchWords) && !has(writingWords) && !e.delicate && w.onlyAnswers(op)
	}
	return e
}

// internalPart returns the tag, or the segment of the path, that shows that an operation is for the operator of the service.
func internalPart(op *operation, segments []string) string {
	is := func(name string) bool {
		all := words(name)
		return len(all) > 0 && (operatorWords[all[0]] || len(all) == 1 && operatorParts[all[0]])
	}
	for _, segment := range segments {
		if is(segment) {
			return "the path has " + read.Excerpt(segment)
		}
	}
	for _, tag := range op.tags {
		if is(tag) {
			return "it has the tag " + read.Excerpt(tag)
		}
	}
	return ""
}

// verbBehind returns the verb of a name of the form object.verb or object:verb, such as auth.revoke: the first word after the last dot or
// colon in the last segment of a path. It returns "" for all other names.
func verbBehind(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		if verb := words(name[i+1:]); len(verb) > 0 {
			return verb[0]
		}
	}
	return ""
}

func words(name string) []string {
	return strings.FieldsFunc(kebab(name), func(r rune) bool { return r == '-' })
}

// readHint returns whether an extension declares that the operation only reads. stated is false if there is no such extension.
func (w *work) readHint(op *operation) (reads, stated bool) {
	for _, name := range readHints {
		if v, is := op.tree[name].(bool); is {
			return v, true
		}
	}
	for _, name := range []string{"x-mcp", "x-annotations"} {
		if v, is := read.Object(op.tree[name])["readOnlyHint"].(bool); is {
			return v, true
		}
	}
	return false, false
}

// onlyAnswers reports whether there is a successful response, and every successful response has status 200 and JSON.
func (w *work) onlyAnswers(op *operation) bool {
	responses, err := w.Follow(op.tree["responses"], "responses")
	if err != nil {
		return false
	}
	found := false
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if len(status) != 3 || status[0] != '2' {
			continue
		}
		r, err := w.Follow(responses[status], "a response")
		if err != nil || status != "200" {
			return false
		}
		name, _ := jsonOf(read.Object(r["content"]))
		if name == "" {
			return false
		}
		found = true
	}
	return found
}
