package openapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// The bounds on one document.
const (
	MaxDocument   = 64 << 20 // bytes, those of the files it refers to included
	MaxFiles      = 5000     // that it refers to
	MaxOperations = 20_000
)

// ErrDocument means that a document cannot be used at all; the text around it is the reason.
var ErrDocument = errors.New("the OpenAPI document cannot be used")

// ErrOptions means that the options contradict each other or are malformed; the text around it is the reason.
var ErrOptions = errors.New("the options cannot be used")

// Options control the conversion of a document.
type Options struct {
	// Namespace is the DNS name under which the intents are named and published.
	Namespace string
	// Source is the address from which the document was fetched, the base of relative server addresses. May be nil.
	Source *url.URL
	// Files are the files to which the document may refer, and Name is its own path among them, the base of relative
	// references. Without Files a reference that leaves the document costs the operations that need it. Only regular files
	// whose names end in .yaml, .yml or .json are read, and none that are hidden.
	Files fs.FS
	Name  string
	// Include and Exclude are patterns of operationIds and paths, in which * matches any text and ? one character. Without
	// Include every operation is selected; Exclude takes precedence.
	Include, Exclude []string
	// Tags, if not empty, restricts the selection to operations with at least one of them.
	Tags []string
	// Known are the UIDs of operations ("GET /things/{id}") from an earlier run: operations keep them unless the major
	// version of the document changes. From ReadRecord.
	Known map[string]string
}

// An Import is the result of Convert.
type Import struct {
	Title, Description, Version, TermsURL string
	Namespace                             string

	Upstream          string // the service's own address, with its base path
	UpstreamGuessed   bool   // the document has no usable address
	IdempotencyHeader string // the header in which operations expect an idempotency key; or empty
	Credentials       []Credential

	Intents     []Intent
	Unmapped    []Finding // operations that are not offered
	Notes       []Finding // what was left out or changed in offered operations
	NotSelected int       // operations that Options excluded

	present map[string]bool // UIDs of operations that are in the document but were not selected
	base    server          // Upstream in its parts
}

// An Intent is one operation in the form in which it is offered.
type Intent struct {
	UID       intents.UID
	Operation string         // "GET /things/{id}"
	Safe      bool           // a call changes nothing
	Tree      map[string]any // the member of intents in agents.json

	below string // the address without the base path of the service
}

// A Finding is a remark for people about one operation, or about the document where Operation is empty.
type Finding struct{ Operation, Message string }

func (f Finding) String() string {
	if f.Operation == "" {
		return f.Message
	}
	return f.Operation + ": " + f.Message
}

// Convert reads a document in JSON or YAML. The error wraps ErrDocument or ErrOptions, or is that of ctx, which bounds
// the time.
func Convert(ctx context.Context, data []byte, o Options) (found *Import, err error) {
	defer func() { // a panic here or in the YAML parser must become an error
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("%w: it cannot be read", ErrDocument)
		}
	}()
	if _, err := intents.ParseUID(o.Namespace + ":x:v1"); err != nil {
		return nil, fmt.Errorf("%w: the namespace is a DNS name in lower case, such as example.com", ErrOptions)
	}
	selected, err := newSelection(o)
	if err != nil {
		return nil, err
	}
	d, err := read(data, o)
	if err != nil {
		return nil, err
	}
	w := &work{document: d, options: o, selected: selected, out: &Import{Namespace: o.Namespace, present: map[string]bool{}}}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.out, nil
}

// A selection is the set of operations to convert.
type selection struct {
	include, exclude []*regexp.Regexp
	tags             map[string]bool
}

const maxGlobs = 1000

func newSelection(o Options) (*selection, error) {
	if len(o.Include)+len(o.Exclude)+len(o.Tags) > maxGlobs {
		return nil, fmt.Errorf("%w: more than %d patterns and tags", ErrOptions, maxGlobs)
	}
	s := &selection{tags: map[string]bool{}}
	for _, tag := range o.Tags {
		s.tags[tag] = true
	}
	for _, list := range []struct {
		globs []string
		into  *[]*regexp.Regexp
	}{{o.Include, &s.include}, {o.Exclude, &s.exclude}} {
		for _, glob := range list.globs {
			pattern := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(glob))
			compiled, err := regexp.Compile(`(?s)\A` + pattern + `\z`)
			if err != nil || glob == "" {
				return nil, fmt.Errorf("%w: %.100q is no pattern", ErrOptions, glob)
			}
			*list.into = append(*list.into, compiled)
		}
	}
	return s, nil
}

func (s *selection) selects(path, operationID string, tags []string) bool {
	matches := func(globs []*regexp.Regexp) bool {
		for _, glob := range globs {
			if glob.MatchString(path) || operationID != "" && glob.MatchString(operationID) {
				return true
			}
		}
		return false
	}
	if len(s.include) > 0 && !matches(s.include) || matches(s.exclude) {
		return false
	}
	if len(s.tags) == 0 {
		return true
	}
	for _, tag := range tags {
		if s.tags[tag] {
			return true
		}
	}
	return false
}
