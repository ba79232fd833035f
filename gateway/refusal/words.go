package refusal

import (
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxViolations is the maximum number of violations that a message lists.
const maxViolations = 5

// Sentence describes a refusal for readers that see neither header fields nor details, such as language models. It returns the problem and
// its location, the message of the service behind the gateway, and the suggestion, which includes the time to wait.
func Sentence(f *reason.Refusal) string {
	text := wrong(f)
	s := strings.ReplaceAll(f.Suggestion(), "details.violations", "the message")
	if s == "" || strings.Contains(s, "details.") { // the refusal lacks that detail
		return text
	}
	return text + " " + s
}

// InMessage returns a copy of a refusal for doors that send it as a message, without header fields. Its Message states the whole problem
// and the seconds to wait. The suggestion remains a separate detail.
func InMessage(f *reason.Refusal) *reason.Refusal {
	shown := *f
	shown.Message = wrong(f)
	if f.RetryAfter > 0 {
		shown.Message += " Try again in " + f.Wait() + "."
	}
	return &shown
}

// wrong returns the message, followed by what only the details contain: the violations if there are several (the message describes a single
// violation), the pointer, and the message of the service behind the gateway.
func wrong(f *reason.Refusal) string {
	var b strings.Builder
	b.WriteString(f.Message)
	if list := Violations(f); len(list) > 1 {
		for _, v := range list[:min(len(list), maxViolations)] {
			b.WriteString(" At " + v.Pointer + ": " + v.Message)
			if !strings.HasSuffix(v.Message, "?") {
				b.WriteByte('.')
			}
		}
		if more := len(list) - maxViolations; more > 0 {
			b.WriteString(" There are " + strconv.Itoa(more) + " more violations.")
		}
	}
	if at, _ := f.Details["pointer"].(string); at != "" && !names(b.String(), at) {
		b.WriteString(" At " + at + ".")
	}
	upstream, _ := strictjson.AsObject(f.Details["upstream"])
	if text := upstream.Text("message"); text != "" {
		b.WriteString(" Message of the service: \"" + text + "\"")
		if !strings.ContainsAny(text[len(text)-1:], ".!?") {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// names reports whether text contains a pointer, or names the member to which the pointer leads.
func names(text, pointer string) bool {
	return strings.Contains(text, pointer) || strings.Contains(text, "member "+pointer[strings.LastIndexByte(pointer, '/')+1:]+" ")
}
