// Package curation reads and writes the curation file of an import. The file determines which operations of an OpenAPI document are
// offered to agents, with which names, texts and prices. People edit it. A program that changes the file keeps all comments, and the
// order and spelling of unchanged parts.
package curation

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// FileName is the name of the file, which is in the same directory as the configuration.
const FileName = "openapi.curation.yaml"

// MaxOperations is the maximum number of operations in one file.
const MaxOperations = 5000

// A State is the decision on whether an operation is offered.
type State int8

// Undecided means that the selection decides.
const (
	Undecided State = iota
	Offered
	Hidden
)

// A Prose is text for people, which may have several lines.
type Prose string

const maxProse = 4000 // bytes

// The values of Selection.New.
const (
	NewReads = "reads"
	NewAll   = "all"
	NewNone  = "none"
)

// A File is the content of a curation file.
type File struct {
	Selection  Selection            `yaml:"selection"  doc:"Which of the operations that are not listed yet are offered."`
	Operations map[string]Operation `yaml:"operations" max:"5000"                                                  doc:"By operationId, or by METHOD /path if there is none."`

	text    []byte            // the text that was read; nil for a new file
	read    *File             // the content of text
	added   []string          // keys, in the order of Add
	remarks map[string]string // the comments on the lines of added
	renamed map[string]string // old key → new key
}

// A Selection determines which of the operations that are not listed are offered. Operations that Exclude matches are not offered even if
// they are listed.
type Selection struct {
	Include []string `json:",omitempty" yaml:"include" max:"1000" doc:"Patterns of operationIds and paths (* matches any text): only operations that match are offered."`
	Exclude []string `json:",omitempty" yaml:"exclude" max:"1000" doc:"Patterns of operationIds and paths: operations that match are never offered."`
	Tags    []string `json:",omitempty" yaml:"tags"    max:"1000" doc:"Only operations with one of these tags are offered."`
	// Upstream is a URL; it is checked when it is used.
	Upstream string `json:",omitempty" yaml:"upstream" doc:"The URL of the service, instead of that of the document."`
	New      string `json:",omitempty" yaml:"new"                doc:"Which of the remaining operations are offered: those that only read, all or none." default:"reads" enum:"reads,all,none"`
}

// An Operation is the decision about one operation. If Name or Description is empty, the text of the document is used.
type Operation struct {
	UID         string       `yaml:"uid"         doc:"The UID of the intent: namespace:name:version."`
	Hidden      State        `yaml:"hidden"      doc:"Whether the operation is not offered to agents."`
	Name        string       `yaml:"name"        doc:"The name of the intent for people."`
	Description Prose        `yaml:"description" doc:"The description that agents read."`
	Price       money.Amount `yaml:"price"       doc:"The price of a call in the generated policy."`
	Limit       limit.Rate   `yaml:"limit"       doc:"The maximum number of calls of one agent in the generated policy, such as 100/hour."`
	Agreement   string       `yaml:"agreement"   doc:"Which agreements are sufficient."                 enum:"any,fresh"`
	Notes       Prose        `yaml:"notes"       doc:"For people; uimgate does not use them."`
}

var errValue = errors.New("not of this type")

var scalars = yamlconf.Scalars{
	reflect.TypeFor[State](): {Want: "true or false", Number: true, Parse: func(s string) (any, error) {
		switch s {
		case "true":
			return Hidden, nil
		case "false":
			return Offered, nil
		}
		return nil, errValue
	}},
	reflect.TypeFor[Prose](): {Want: fmt.Sprintf("text of at most %d bytes", maxProse), Parse: func(s string) (any, error) {
		control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }
		if len(s) > maxProse || !utf8.ValidString(s) || strings.ContainsFunc(s, control) {
			return nil, errValue
		}
		return Prose(strings.TrimRight(s, "\n")), nil
	}},
	reflect.TypeFor[limit.Rate]():   {Want: "a rate such as 100/hour", Parse: func(s string) (any, error) { return limit.ParseRate(s) }},
	reflect.TypeFor[money.Amount](): {Want: "an amount such as 0.05 EUR", Parse: func(s string) (any, error) { return money.Parse(s) }},
}

// Read parses a file, or returns a new File if data is nil. The error lists all problems, each with its line.
func Read(data []byte) (*File, error) {
	f := &File{Selection: Selection{New: NewReads}, Operations: map[string]Operation{}}
	if data != nil {
		doc, bad := yamlconf.Decode(data, f, yamlconf.Options{File: FileName, What: "the curation file", Types: yamlconf.Types{Scalars: scalars}})
		if bad != nil {
			return nil, errors.New(bad.String())
		}
		uids := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(f.Operations)) {
			uid := f.Operations[key].UID
			if other, twice := uids[uid]; twice && uid != "" {
				doc.Errorf(fmt.Sprintf("operations[%q]", key), "has the uid %s, which %s also has: choose another uid", uid, other)
			}
			uids[uid] = key
		}
		if problems := doc.Problems(); problems.Failed() {
			return nil, problems.Err()
		}
		if f.Operations == nil {
			f.Operations = map[string]Operation{}
		}
		f.text = data
	}
	f.read = &File{Selection: f.Selection, Operations: maps.Clone(f.Operations)}
	f.remarks, f.renamed = map[string]string{}, map[string]string{}
	return f, nil
}

// Add adds an operation or replaces it. For a new operation, Text writes remark as a comment on the same line. remark must be one line; it
// may be empty.
func (f *File) Add(key string, o Operation, remark string) {
	if _, have := f.Operations[key]; !have {
		f.added = append(f.added, key)
		f.remarks[key] = remark
	}
	f.Operations[key] = o
}

// Rename changes the key of an operation. It does nothing if there is no operation with the key from, or if the key to is already used.
func (f *File) Rename(from, to string) {
	o, have := f.Operations[from]
	if _, taken := f.Operations[to]; !have || taken {
		return
	}
	delete(f.Operations, from)
	f.Operations[to] = o
	if i := slices.Index(f.added, from); i >= 0 {
		f.added[i], f.remarks[to] = to, f.remarks[from]
		return
	}
	for old, key := range f.renamed {
		if key == from {
			f.renamed[old] = to
			return
		}
	}
	f.renamed[from] = to
}
