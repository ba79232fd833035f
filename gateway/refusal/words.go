package refusal

import (
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxViolations bounds the violations in a text.
const maxViolations = 5

// Sentence returns a refusal in words, for readers that see neither header fields nor details, such as models: the problem and its
// location, the message of the service behind the gateway, and what to do, with the seconds to wait.
func Sentence(f *reason.Refusal) string {
	text := wrong(f)
	s := strings.ReplaceAll(f.Suggestion(), "details.violations", "the message")
	if s == "" || strings.Contains(s, "details.") { // if the refusal does not have it
		return text
	}
	return text + " " + s
}

// InMessage returns a refusal for doors whose agents get it as a message, without header fields: its Message has the whole problem, and
// the seconds to wait. The suggestion stays a separate detail.
func InMessage(f *reason.Refusal) *reason.Refusal {
	shown := *f
	shown.Message = wrong(f)
	if f.RetryAfter > 0 {
		shown.Message += " Try again in " + f.Wait() + "."
	}
	return &shown
}

// wrong returns the message and the problems that only the details have: several violations (the message describes a single one), the
// pointer, and the message of the service behind the gateway.
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
			b.WriteString(" And " + strconv.Itoa(more) + " more.")
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

// names reports whether a text names the target of a pointer: by the whole pointer, or by its last member.
func names(text, pointer string) bool {
	return strings.Contains(text, pointer) || strings.Contains(text, "member "+pointer[strings.LastIndexByte(pointer, '/')+1:]+" ")
}
