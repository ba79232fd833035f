package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"net/url"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi/curation"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// MaxOperations is the maximum number of operations in one document. Package read has further bounds.
const MaxOperations = 20_000

// ErrOptions means that the options contradict each other or are malformed; the rest of the message is the reason.
var ErrOptions = errors.New("invalid options")

// Options control the conversion of a document.
type Options struct {
	// Namespace is the namespace of the UIDs, and the DNS name that the intents are published under.
	Namespace string
	// Source is the URL that the document was fetched from. It is the base of relative server URLs. It may be nil.
	Source *url.URL
	// Files holds the files that the document may refer to. Name is the path of the document in Files, which is the base of relative
	// references. If Files is nil, operations that refer to other files are omitted. Only regular files with names that end in .yaml, .yml
	// or .json are read, and no hidden files.
	Files fs.FS
	Name  string
	// Upstream is the URL of the service, which takes precedence over the servers of the document. Empty: the URL in the curation, if there is
	// one.
	Upstream string
	// Tools is the MCP server whose tools the document describes; nil: the document describes an HTTP API.
	Tools *ToolServer
	// Email is the address for a certificate from a CA through ACME, which the configuration then uses for https://Namespace. Empty: the
	// address of the previous run, or no TLS.
	Email string
	// Curation has the earlier decisions; it may be nil.
	Curation *Curation
	// Include and Exclude are patterns of operationIds and paths, in which * matches any string and ? matches one character. Tags restricts
	// the selection to operations with at least one of these tags. Each field, if not empty, replaces that of the curation. The selection
	// applies to operations without a decision; operations that Exclude matches are never offered.
	Include, Exclude, Tags []string
	// All means that two kinds of operations are also offered: those that write, and those that are otherwise offered only if they are named.
	All bool
	// Replaced is the time at which an intent ends if another version replaces it, and Gone is the same for an intent whose operation the
	// document no longer has. Agents can call the intent until then. Zero: the intent ends at once.
	Replaced, Gone time.Time
	// Revise, if not zero, is the present time, and means that Replaced and Gone also apply to intents that an earlier run has retired. An
	// intent whose retire_after is not after Revise stays as it is.
	Revise time.Time
	// InPlace means that an intent changes in place even if the change breaks agents. Otherwise, such a change adds an intent with the next
	// version.
	InPlace bool
	// Policies are the names of the policies of the service that have not ended, in the order of their dates. The first one is in force.
	// Empty: only PolicyFile.
	Policies []string
	// If Merge is not nil, Update adds permissions to policies that people have edited, and to all policies that follow the one in force. The
	// edited policy in force also gets the prices and limits of the curation. If Merge is nil, Update writes the generated policy under
	// another name. Merge returns the terms of the existing policies for the intents of a new agents.json, by policy and UID, or nil if they
	// cannot be determined.
	Merge func(agents []byte) map[string]map[string]Terms
	// KeepPolicy means that Update writes no policy.
	KeepPolicy bool
	// Pick, if not nil, lists the only operations to offer, as operationIds, UIDs or "METHOD /path".
	Pick []string
}

// A ToolServer is an MCP server, as the configuration names it. Either URL or Command is set.
type ToolServer struct {
	URL        string
	Command    string
	Args       []string
	Env        []string // NAME=value
	HeaderFile string   // file with a header line that the server requires; may be empty
}

// An Import is the result of Convert.
type Import struct {
	Title, Description, Version, TermsURL string
	Namespace                             string

	Upstream          string // the URL of the service, with its base path
	UpstreamGuessed   bool   // Upstream is a guess, because the document has no usable URL of the service
	IdempotencyHeader string // the header in which operations expect an idempotency key; may be empty
	Credentials       []Credential
	Givens            []Given
	Email             string // the address for a certificate through ACME; empty: no TLS
	ErrorWhen         string // a proposal for services[].error_when, with a remark; may be empty

	Intents  []Intent
	Unmapped []Finding // operations that cannot be offered, except excluded ones
	Notes    []Finding // what was left out or changed in offered operations
	Hidden   int       // operations that could be offered but are not
	Reviewed []ReviewItem

	options  Options
	curation *Curation
	versions string          // the version in the UIDs
	hidden   map[string]bool // UIDs of hidden operations
	base     server          // the parts of Upstream
}

// A ReviewItem is one operation of the document, for people who decide which are offered.
type ReviewItem struct {
	Operation, ID string // "GET /things/{id}", operationId
	UID           string // empty if the operation cannot be offered
	Reads         bool   // a call changes nothing
	Offered       bool
	Price         string   // empty if a call is free
	Findings      []string // what was left out or changed, or why the operation cannot be offered
}

// An Intent is one offered operation.
type Intent struct {
	UID       intents.UID
	Operation string         // "GET /things/{id}"
	Safe      bool           // a call changes nothing
	Tree      map[string]any // the member of intents in agents.json

	refusal string            // the error_when that an example suggests; may be empty
	headers []string          // required headers, which the operator supplies
	own     map[string]string // the texts of the document that the curation replaces, by member
}

// A Finding is a remark for people about one operation, or about the document if Operation is empty.
type Finding struct{ Operation, Message string }

func (f Finding) String() string {
	if f.Operation == "" {
		return f.Message
	}
	return f.Operation + ": " + f.Message
}

// decisions merges the selection in the options into the curation, and compiles the result and the selection of the previous run.
func (w *work) decisions() error {
	c := w.options.Curation
	if c == nil {
		file, err := curation.Read(nil)
		if err != nil {
			return err
		}
		c = &Curation{file: file}
	}
	w.out.curation = c
	s := &c.file.Selection
	for _, list := range []struct {
		given []string
		into  *[]string
	}{{w.options.Include, &s.Include}, {w.options.Exclude, &s.Exclude}, {w.options.Tags, &s.Tags}} {
		if len(list.given) > 0 {
			*list.into = list.given
		}
	}
	if w.options.Upstream != "" {
		s.Upstream = w.options.Upstream
	}
	w.upstream = s.Upstream
	w.out.Email = cmp.Or(w.options.Email, c.last.Email)
	switch {
	case w.options.All:
		s.New = curation.NewAll
	case w.options.Pick != nil:
		s.New = curation.NewNone
	}
	var err error
	if w.selected, err = newSelection(*s); err != nil {
		return err
	}
	if c.last.Selection != nil {
		w.before, err = newSelection(*c.last.Selection)
	}
	return err
}

// CheckNamespace checks Options.Namespace. The error wraps ErrOptions.
func CheckNamespace(namespace string) error {
	if _, err := intents.ParseUID(namespace + ":x:v1"); err != nil {
		return fmt.Errorf("%w: the namespace must be a lowercase DNS name, such as example.com", ErrOptions)
	}
	return nil
}

// CheckEmail checks Options.Email. The error wraps ErrOptions.
func CheckEmail(email string) error {
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || strings.ContainsAny(email, "${} \"") {
		return fmt.Errorf("%w: the email address must have the form ops@example.com", ErrOptions)
	}
	return nil
}

// Convert converts a document in JSON or YAML. The error wraps read.ErrDocument, ErrOptions or the error of ctx.
func Convert(ctx context.Context, data []byte, o Options) (found *Import, err error) {
	defer func() { // a panic here or in the YAML parser must become an error
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("%w: it cannot be read", read.ErrDocument)
		}
	}()
	if err := CheckNamespace(o.Namespace); err != nil {
		return nil, err
	}
	if o.Email != "" {
		if err := CheckEmail(o.Email); err != nil {
			return nil, err
		}
	}
	d, err := read.Parse(data, o.Files, o.Name)
	if err != nil {
		return nil, err
	}
	w := &work{Document: d, options: o, out: &Import{Namespace: o.Namespace, options: o, hidden: map[string]bool{}}}
	if err := w.decisions(); err != nil {
		return nil, err
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.out, nil
}
