package intents

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

// A License is the value of uim-license if it is a name of the UIM licensing scheme: [Open-][artifacts-]UIM-<elements>-v<version>, such as
// D-UIM-BY-NC-v1.0. Only ParseLicense creates a License; the zero License means that there is none. See UIM reference, licensing scheme.
type License struct {
	Open      bool     // offered at no charge
	Artifacts string   // what the licence covers: letters of DAMPS, in that order; empty means everything
	Elements  []string // in canonical spelling and order, each once; PD and CC0 are never combined with others
	Version   string   // such as 1.0
}

// ErrLicense means that a string is not a name of the UIM licensing scheme. It may still be the name of another licence.
var ErrLicense = errors.New("want a licence such as UIM-BY-NC-v1.0, or a URL that ends in one")

// licenseElements are the elements in canonical order, each with its meaning. PD and CC0, which dedicate the work to the public domain, are
// never combined with other elements.
var licenseElements = []struct{ name, meaning string }{
	{"PD", "The material is in the public domain: anyone may use it for any purpose, without conditions."},
	{"CC0", "The service waives its rights in the material (CC0): anyone may use it for any purpose, without conditions."},
	{"BY", "Give appropriate credit, link to the licence, and indicate what you changed."},
	{"NC", "Commercial use is not allowed."},
	{"SA", "Anything that you build from the material must be licensed under the same terms."},
	{"ND", "Do not change, adapt or remix the material."},
	{"EAU", "Harmful use, such as surveillance or discrimination, is not allowed."},
	{"IO", "The material may be accessed and copied only for indexing and search."},
	{"AIATTR", "AI systems must name the source in outputs that derive from the material."},
	{"NoDM", "Text and data mining is not allowed."},
	{"NoMT", "Training AI models on the material is not allowed."},
	{"NoLTS", "Long-term storage is not allowed."},
	{"BACP", "Bypassing paywalls or other access controls is not allowed."},
}

// licenseArtifacts are the meanings of the letters DAMPS.
var licenseArtifacts = []struct {
	letter byte
	words  string
}{
	{'D', "data"}, {'A', "applications and services"}, {'M', "model architectures"}, {'P', "model parameters"}, {'S', "source code"},
}

const maxLicense = 200 // the maximum length of a name in bytes; a name with all elements is shorter

var licenseForm = regex.Lazy(`(?i)^(open-)?(?:([damps]{1,5})-)?uim-([a-z0-9-]+)` +
	`-v((?:0|[1-9][0-9]{0,3})(?:\.(?:0|[1-9][0-9]{0,3})){0,2})$`)

// ParseLicense reads a name of the UIM licensing scheme, or an http or https URL whose path ends in one, in any case. Names with
// contradicting elements are rejected. Every error wraps ErrLicense.
func ParseLicense(s string) (License, error) {
	name := s
	if strings.Contains(s, "://") {
		if len(s) > maxURL {
			return License{}, fmt.Errorf("longer than %d bytes: %w", maxURL, ErrLicense)
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
			u.Fragment != "" {
			return License{}, fmt.Errorf("not a plain http or https URL: %w", ErrLicense)
		}
		name = strings.TrimRight(u.Path, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if len(name) > maxLicense {
		return License{}, fmt.Errorf("longer than %d bytes: %w", maxLicense, ErrLicense)
	}
	m := licenseForm().FindStringSubmatch(name)
	if m == nil {
		return License{}, fmt.Errorf("not of the form [Open-][artifacts-]UIM-<elements>-v<version>: %w", ErrLicense)
	}
	l := License{Open: m[1] != "", Version: m[4]}
	letters := strings.ToUpper(m[2])
	for _, a := range licenseArtifacts {
		switch strings.Count(letters, string(a.letter)) {
		case 0:
		case 1:
			l.Artifacts += string(a.letter)
		default:
			return License{}, fmt.Errorf("the artifact %c occurs twice: %w", a.letter, ErrLicense)
		}
	}
	written := strings.Split(strings.ToLower(m[3]), "-")
	for _, e := range licenseElements {
		if slices.Contains(written, strings.ToLower(e.name)) {
			l.Elements = append(l.Elements, e.name)
		}
	}
	if len(l.Elements) != len(written) {
		return License{}, fmt.Errorf("an element is unknown or occurs twice: %w", ErrLicense)
	}
	if err := l.checkElements(); err != nil {
		return License{}, err
	}
	return l, nil
}

// checkElements returns an error that wraps ErrLicense if elements of the licence contradict each other.
func (l License) checkElements() error {
	switch {
	case l.publicDomain() && len(l.Elements) > 1:
		return fmt.Errorf("PD and CC0 cannot be combined with other elements: %w", ErrLicense)
	case l.Has("ND") && l.Has("SA"):
		return fmt.Errorf("ND cannot be combined with SA, because ND forbids derivatives and SA licenses them: %w", ErrLicense)
	default:
		return nil
	}
}

// publicDomain reports whether the work is dedicated to the public domain.
func (l License) publicDomain() bool { return l.Has("PD") || l.Has("CC0") }

// Has reports whether the licence has this element, in canonical spelling.
func (l License) Has(element string) bool { return slices.Contains(l.Elements, element) }

// String returns the canonical name, which ParseLicense reads. It is empty for the zero License.
func (l License) String() string {
	if len(l.Elements) == 0 {
		return ""
	}
	var b strings.Builder
	if l.Open {
		b.WriteString("Open-")
	}
	if l.Artifacts != "" {
		b.WriteString(l.Artifacts + "-")
	}
	b.WriteString("UIM-" + strings.Join(l.Elements, "-") + "-v" + l.Version)
	return b.String()
}

// Plain describes the licence in sentences: what it covers, whether it is free of charge, and then each element, in canonical order. It
// returns nil for the zero License. Ethical use is a condition of every licence of the scheme except the dedications to the public domain,
// so Plain describes it even if the name does not contain EAU.
func (l License) Plain() []string {
	if len(l.Elements) == 0 {
		return nil
	}
	out := []string{"The licence covers " + l.covers() + "."}
	if l.Open {
		out = append(out, "The material is offered at no charge.")
	}
	for _, e := range licenseElements {
		if l.Has(e.name) || e.name == "EAU" && !l.publicDomain() {
			out = append(out, e.meaning)
		}
	}
	return out
}

func (l License) covers() string {
	if l.Artifacts == "" {
		return "everything the service returns"
	}
	var words []string
	for _, a := range licenseArtifacts {
		if strings.IndexByte(l.Artifacts, a.letter) >= 0 {
			words = append(words, a.words)
		}
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return words[0]
}
