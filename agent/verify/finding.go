package verify

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/agent/fetch"
)

// A finding is the result of one check.
type finding struct {
	outcome Outcome
	detail  string
}

func holds(format string, args ...any) finding { return finding{Holds, fmt.Sprintf(format, args...)} }

func missing(format string, args ...any) finding {
	return finding{Missing, fmt.Sprintf(format, args...)}
}

func wrong(format string, args ...any) finding { return finding{Wrong, fmt.Sprintf(format, args...)} }

func skipped(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...)}
}

var pass = finding{outcome: Holds}

// exchangeFailed is the finding for an exchange that failed. Errors of package fetch hold no path and no secret.
func exchangeFailed(err error) finding {
	if errors.Is(err, fetch.ErrRefused) {
		return wrong("nothing was sent: %v", err)
	}
	return wrong("%v", err)
}

// serverError is the finding of a check that met a 5xx: only error-failures reports those.
func serverError(a fetch.Answer) finding {
	return skipped("the answer was %d: see error-failures", a.Status)
}

// expectStatus checks the status of an error answer. Its body is checked with all others, by error-envelope.
func expectStatus(a fetch.Answer, want ...int) finding {
	switch {
	case slices.Contains(want, a.Status):
		return pass
	case a.Status >= http.StatusInternalServerError:
		return serverError(a)
	case a.Status == http.StatusTooManyRequests:
		return skipped("the service takes no more requests of this kind now")
	}
	return wrong("it is answered %d, not %d", a.Status, want[0])
}

// summary lists the first entries and how many more there are.
func summary(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
}

// wrongIfAny is the finding for a list of offenders: wrong unless it is empty.
func wrongIfAny(list []string) finding {
	if len(list) == 0 {
		return pass
	}
	return wrong("%s", summary(list))
}

// printable makes foreign text fit to be printed: on one line, without control characters, bounded.
func printable(s string) string {
	const most = 400
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	}), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
