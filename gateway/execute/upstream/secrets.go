package upstream

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/redact"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Minimum lengths, in bytes, of the values that are searched for in responses. Shorter values occur in responses by chance.
const (
	leastInMessage  = 4 // any value in an error message; the message is then dropped
	LeastCredential = 6 // a credential in a 2xx response
	LeastDigits     = 8 // a credential that consists only of digits, in a 2xx response
	leastFixed      = 8 // a fixed value in a 2xx response; shorter values are usually plain words, such as a unit or a country
)

// Recognizable reports whether a credential is long enough to be removed from 2xx responses.
func Recognizable(credential string) bool {
	return len(credential) >= LeastCredential && (len(credential) >= LeastDigits || strings.Trim(credential, "0123456789") != "")
}

// A guard finds credentials and fixed values of the configuration in the service's output.
type guard struct{ messages, answers *redact.Matcher }

func newGuard(credentials, fixed []string) guard {
	var messages, answers []string
	for _, text := range credentials {
		if len(text) >= leastInMessage {
			messages = append(messages, text)
		}
		if Recognizable(text) {
			answers = append(answers, text)
		}
	}
	for _, text := range fixed {
		if len(text) >= leastInMessage {
			messages = append(messages, text)
		}
		if len(text) >= leastFixed {
			answers = append(answers, text)
		}
	}
	return guard{redact.New(messages), redact.New(answers)}
}

// guardOf returns the guard for a route. Routes with the same values share a guard.
func (u *Upstream) guardOf(r *Route) guard {
	credentials := sorted(slices.Concat(u.credentials, r.credentials))
	fixed := sorted(r.fixedTexts)
	key := strings.Join(credentials, "\x00") + "\x00\x00" + strings.Join(fixed, "\x00")
	u.routing.Lock()
	defer u.routing.Unlock()
	g, ok := u.guards[key]
	if !ok {
		g = newGuard(credentials, fixed)
		u.guards[key] = g
	}
	return g
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// holdsSecret reports whether text from the service contains a value that agents must not see.
func (r *Route) holdsSecret(text string) bool {
	return r.guard.messages.In(text) || r.upstream.tokens.guard().messages.In(text)
}

// conceal overwrites credentials and fixed values in the body of a 2xx response.
func (r *Route) conceal(body []byte) {
	if r.guard.answers.Mask(body)+r.upstream.tokens.guard().answers.Mask(body) > 0 {
		r.concealed.Add(1)
	}
}

// concealHeader drops the header fields of a response that contain a credential or a fixed value.
func (r *Route) concealHeader(a *Answer) {
	concealed := false
	for name, values := range a.Header {
		if slices.ContainsFunc(values, r.holdsSecret) {
			delete(a.Header, name)
			concealed = true
		}
	}
	if a.ContentType != applicationJSON && r.holdsSecret(a.ContentType) {
		a.ContentType, concealed = "", true
	}
	if concealed {
		r.concealed.Add(1)
	}
}

// Concealed returns, by intent, how often credentials or fixed values were removed from the body or the header of a response.
func (u *Upstream) Concealed() map[string]int64 {
	u.routing.Lock()
	defer u.routing.Unlock()
	counts := map[string]int64{}
	for _, r := range u.routes {
		if n := r.concealed.Load(); n > 0 {
			counts[r.intent] += n
		}
	}
	return counts
}

// secretTexts appends the text of every scalar in a value to texts.
func secretTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			texts = secretTexts(texts, member)
		}
	case []any:
		for _, item := range v {
			texts = secretTexts(texts, item)
		}
	default:
		if text, ok := strictjson.ScalarText(v); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// headerSecrets returns the value of a header and those parts of the value that are also secrets: the text after the scheme, the password
// of HTTP Basic, and the values of parameters and cookies.
func headerSecrets(value string) []string {
	texts := []string{value}
	scheme, token, _ := strings.Cut(value, " ")
	texts = append(texts, token)
	if decoded, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(decoded), ":")
		texts = append(texts, password)
	}
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == ';' || r == ',' }) {
		if _, parameter, ok := strings.Cut(part, "="); ok {
			texts = append(texts, strings.Trim(parameter, `"`))
		}
	}
	return texts
}
