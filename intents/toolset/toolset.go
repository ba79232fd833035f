// Package toolset makes a catalog of any size usable for a language model through three tools: search_intents finds intents,
// describe_intents returns their signatures, and call_intent calls one of them. A list with one tool for each of several hundred intents
// would fill the context of a model, and assistants truncate such lists. Servers of the Model Context Protocol share this package.
package toolset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The names of the tools. They cannot be the names of intents, which end with a version.
const (
	Search   = "search_intents"
	Describe = "describe_intents"
	Call     = "call_intent"
)

// Limits of the arguments and of the responses of the tools.
const (
	maxQuery     = 500 // characters
	maxTags      = 10
	maxLimit     = 20 // intents in a response of Search
	usualLimit   = 8
	maxDescribed = 10   // intents in a response of Describe
	maxID        = 400  // bytes of a uid or a tool name
	searchBytes  = 3400 // maximum size of a response of Search: fewer than 1,000 tokens as JSON in JSON
	maxAbout     = 120  // characters of an intent in a response of Search
	maxTerms     = 100  // characters of an intent's terms in a response of Search
	maxLeft      = 100  // characters of Entry.Left in a response of Search
)

// An Entry is one intent of a Source.
type Entry struct {
	ID     string // the uid, or the name of the tool if the uid is ambiguous
	Intent *intents.Intent
	Terms  string // the price and the limits of a call, in a few words; empty: unknown
	// Left is how many more calls the caller can make before a limit refuses them, in a few words; empty: unknown, or no limit applies. Only
	// Source.Find sets it.
	Left string
}

// A Source provides the intents of one or several catalogs.
type Source interface {
	// Find returns the first q.PageSize intents that match a query, the best match first, and the total number of matches.
	Find(q intents.Query) (found []Entry, total int)
	// Lookup returns the intent with a uid or a tool name. If there is none, nearest is the most similar uid, or empty.
	Lookup(id string) (e Entry, nearest string, ok bool)
}

// An ArgumentError describes an invalid argument of a tool. It does not contain the value.
type ArgumentError struct{ Message string }

// Error implements error.
func (e *ArgumentError) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &ArgumentError{fmt.Sprintf(format, args...)} }

// Tools returns the three tools as JSON, in the order in which a model uses them. about names the services, and n is the number of their
// intents. See MCP 2026-07-28, server/tools, Tool.
func Tools(about string, n int) [][]byte {
	return [][]byte{
		tool(Search, "Search intents",
			"Find what "+about+" can do: it offers "+strconv.Itoa(n)+" intents. Returns the best matches for a request, each "+
				"with its uid, one line, its terms, the calls that are left to you, and whether it is safe, which means that a call "+
				"changes nothing.", true,
			`{"type":"object","properties":{"query":{"type":"string","maxLength":`+strconv.Itoa(maxQuery)+`,"description":"What to do, in a `+
				`few words, such as: cancel an order. Empty lists all intents."},"tags":{"type":"array","items":{"type":"string"},"maxItems":`+
				strconv.Itoa(maxTags)+`,"description":"Only intents with all these tags."},"limit":{"type":"integer","minimum":1,"maximum":`+
				strconv.Itoa(maxLimit)+`,"default":`+strconv.Itoa(usualLimit)+`}},"additionalProperties":false}`),
		tool(Describe, "Describe intents", "Get the signatures of intents before a first call: parameters and results in TypeScript notation, "+
			"constraints, terms and an example.", true,
			`{"type":"object","properties":{"uids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":`+strconv.Itoa(maxDescribed)+
				`,"description":"uids of `+Search+`."}},"required":["uids"],"additionalProperties":false}`),
		tool(Call, "Call an intent", "Call one intent. Charges, limits and refusals are those of the intent.", false,
			`{"type":"object","properties":{"uid":{"type":"string","description":"uid of `+Search+`."},"parameters":{"type":"object",`+
				`"description":"As `+Describe+` states."}},"required":["uid"],"additionalProperties":false}`),
	}
}

func tool(name, title, description string, reads bool, schema string) []byte {
	t := struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations map[string]bool `json:"annotations"`
	}{name, title, description, json.RawMessage(schema), map[string]bool{"readOnlyHint": reads, "openWorldHint": !reads}}
	if reads {
		t.Annotations["destructiveHint"], t.Annotations["idempotentHint"] = false, true
	}
	out, err := json.Marshal(t)
	if err != nil { // the schemas are constants, and strings can always be encoded
		return []byte("{}")
	}
	return out
}

// IsTool reports whether a name is that of one of the tools.
func IsTool(name string) bool { return name == Search || name == Describe || name == Call }

// A match is one intent in a response of Search.
type match struct {
	UID   string `json:"uid"`
	About string `json:"about,omitempty"`
	Terms string `json:"terms,omitempty"`
	Left  string `json:"left,omitempty"`
	Safe  bool   `json:"safe,omitempty"`
}

// Find runs search_intents. The result is a JSON object with the members intents and total. Find returns fewer intents than the arguments
// ask for if the result would otherwise exceed 3,400 bytes. The error is an *ArgumentError.
func Find(s Source, arguments strictjson.Object) ([]byte, error) {
	q, err := query(arguments)
	if err != nil {
		return nil, err
	}
	found, total := s.Find(q)
	out := []byte(`{"intents":[`)
	for i, e := range found[:min(len(found), q.PageSize)] {
		about := short(summary(e.Intent), maxAbout)
		one, err := json.Marshal(match{e.ID, about, short(e.Terms, maxTerms), short(e.Left, maxLeft), e.Intent.Safe})
		if err != nil {
			return nil, invalid("The intent %s could not be encoded.", e.ID)
		}
		if len(out)+len(one) > searchBytes {
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	out = strconv.AppendInt(append(out, `],"total":`...), int64(total), 10)
	if total == 0 {
		out = append(out, `,"note":"Nothing matches. Use fewer or other words, or an empty query."`...)
	}
	return append(out, '}'), nil
}

// query reads the arguments of search_intents.
func query(arguments strictjson.Object) (intents.Query, error) {
	q := intents.Query{PageSize: usualLimit}
	if err := only(arguments, "query", "tags", "limit"); err != nil {
		return q, err
	}
	if v, sent := arguments["query"]; sent {
		text, isText := v.(string)
		if !isText || len(text) > 4*maxQuery || len([]rune(text)) > maxQuery {
			return q, invalid("The argument query must be a string of at most %d characters.", maxQuery)
		}
		q.Text = text
	}
	if v, sent := arguments["tags"]; sent {
		tags, ok := textsOf(v, maxTags)
		if !ok {
			return q, invalid("The argument tags must be a list of at most %d strings.", maxTags)
		}
		q.Tags = tags
	}
	if v, sent := arguments["limit"]; sent {
		n, ok := v.(json.Number)
		limit, err := strconv.Atoi(n.String())
		if !ok || err != nil || limit < 1 || limit > maxLimit {
			return q, invalid("The argument limit must be a whole number from 1 to %d.", maxLimit)
		}
		q.PageSize = limit
	}
	return q, nil
}

// Signatures runs describe_intents. It returns one text for each uid; the text of an unknown uid names the most similar one. The error is
// an *ArgumentError.
func Signatures(s Source, arguments strictjson.Object) ([]string, error) {
	if err := only(arguments, "uids"); err != nil {
		return nil, err
	}
	ids, ok := textsOf(arguments["uids"], maxDescribed)
	if !ok || len(ids) == 0 {
		return nil, invalid("The argument uids must be a list of 1 to %d strings.", maxDescribed)
	}
	var out []string
	for _, id := range ids {
		e, nearest, known := s.Lookup(id)
		switch {
		case known:
			out = append(out, Signature(e))
		case nearest != "":
			out = append(out, "Unknown uid: "+short(id, maxAbout)+". Did you mean "+nearest+"?")
		default:
			out = append(out, "Unknown uid: "+short(id, maxAbout)+". Use "+Search+" to find the uids.")
		}
	}
	return out, nil
}

// ParseCall reads the arguments of call_intent: the uid or the name of the tool, and the parameters, which are at /parameters. The error is
// an *ArgumentError.
func ParseCall(arguments strictjson.Object) (id string, parameters strictjson.Object, err error) {
	if err := only(arguments, "uid", "parameters"); err != nil {
		return "", nil, err
	}
	id, isText := arguments["uid"].(string)
	if !isText || id == "" || len(id) > maxID {
		return "", nil, invalid("The argument uid must be the uid of an intent. Use " + Search + " to find it.")
	}
	v, sent := arguments["parameters"]
	parameters, isObject := strictjson.AsObject(v)
	if sent && v != nil && !isObject {
		return "", nil, invalid("The argument parameters must be an object.")
	}
	if parameters == nil {
		parameters = strictjson.Object{}
	}
	return id, parameters, nil
}

// The function only restricts the arguments of a tool: it returns an error if args has members other than the given ones.
func only(arguments strictjson.Object, names ...string) error {
	for name := range arguments {
		if !slices.Contains(names, name) {
			return invalid("The tool has no argument %q. Its arguments are %s.", short(name, maxAbout), strings.Join(names, ", "))
		}
	}
	return nil
}

// textsOf returns a list of at most maxItems strings of at most maxID bytes.
func textsOf(v any, maxItems int) ([]string, bool) {
	list, isList := v.([]any)
	if !isList || len(list) > maxItems {
		return nil, false
	}
	var out []string
	for _, item := range list {
		text, isText := item.(string)
		if !isText || len(text) > maxID {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}
