package mrp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

type (
	// Visibility determines whether other agents can find an agent.
	Visibility string
	// InboxPolicy determines which agents may send messages to an agent.
	InboxPolicy string
	// AgentStatus determines whether an agent may use the relay.
	AgentStatus string
)

// The values in a profile. Other agents cannot find a private agent, but can send messages to it if they have its key.
const (
	Public  Visibility = "public"
	Private Visibility = "private"

	Open      InboxPolicy = "open"      // all agents may send
	Closed    InboxPolicy = "closed"    // no agent may send
	AllowList InboxPolicy = "allowlist" // only agents with an Allow entry may send
	BlockList InboxPolicy = "blocklist" // all agents without a Block entry may send

	Active    AgentStatus = "active"
	Suspended AgentStatus = "suspended"
)

// A Profile is a relay's description of an agent.
type Profile struct {
	PublicKey    Key             `json:"public_key"`
	DisplayName  *string         `json:"display_name"`
	Status       AgentStatus     `json:"status"`
	Visibility   Visibility      `json:"visibility"`
	InboxPolicy  InboxPolicy     `json:"inbox_policy"`
	Metadata     json.RawMessage `json:"metadata"` // an object
	Capabilities []Capability    `json:"capabilities"`
	CreatedAt    time.Time       `json:"created_at"`
	LastActiveAt time.Time       `json:"last_active_at"`
}

// A Capability describes one capability of an agent.
type Capability struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Tags        []string        `json:"tags"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // JSON Schema, an object
	Version     string          `json:"version,omitempty"`
}

// A Change is a request to change the agent's own profile. Zero fields leave the profile unchanged.
type Change struct {
	DisplayName  *string         `json:"display_name,omitempty"` // "" removes the name
	Visibility   Visibility      `json:"visibility,omitempty"`
	InboxPolicy  InboxPolicy     `json:"inbox_policy,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`    // an object
	Capabilities []Capability    `json:"capabilities,omitzero"` // an empty list that is not nil removes all of them
}

var tag = regex.Lazy(fmt.Sprintf(`^[A-Za-z0-9_:.-]{1,%d}$`, MaxTag))

// ReadChange parses the body of a request that changes a profile. The error has the code bad_request, payload_too_large or
// unprocessable_entity.
func ReadChange(document []byte) (Change, *Error) {
	o, err := readObject(document)
	if err != nil {
		return Change{}, err
	}
	c := Change{
		Visibility:  oneOf(o, "visibility", Public, Private),
		InboxPolicy: oneOf(o, "inbox_policy", Open, Closed, AllowList, BlockList),
		Metadata:    o.asSent("metadata", MaxMetadata),
	}
	switch {
	case o.null("display_name"):
		c.DisplayName = new(string)
	case o.has("display_name"):
		name := o.text("display_name", MaxDisplayName)
		c.DisplayName = &name
		if !Shown(name) {
			o.fail(Unprocessable, "display_name", "contains characters that cannot be displayed")
		}
	}
	if o.has("capabilities") {
		c.Capabilities = []Capability{}
		for i, item := range o.list("capabilities", MaxCapability) {
			c.Capabilities = append(c.Capabilities, o.capability(i, item))
		}
	}
	if o.err != nil {
		o.err.Code = Unprocessable // the only code for problems in a well-formed document
		return Change{}, o.err
	}
	return c, nil
}

// Shown reports whether a string can be displayed to people. A string with control characters, characters that change the direction of
// text, or replacement characters (U+FFFD) cannot.
func Shown(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar
	})
}

func (o *object) capability(i int, item any) (c Capability) {
	at := fmt.Sprintf("capabilities/%d/", i)
	if name, ok := item.(string); ok { // older agents send only the name
		item = map[string]any{"name": name, "tags": []any{name}}
	}
	members, ok := strictjson.AsObject(item)
	if !ok {
		o.fail(Unprocessable, "capabilities", "must contain objects with a name, a description and tags")
		return c
	}
	inner := &object{members: members, at: at, err: o.err}
	c = Capability{
		Name: inner.required("name", MaxName), Description: inner.text("description", MaxDescription), Tags: []string{},
		InputSchema: inner.object("input_schema", MaxSchema), Version: inner.text("version", MaxVersion),
	}
	for _, text := range []string{c.Name, c.Version} {
		if !Shown(text) {
			inner.fail(Unprocessable, "name", "contains characters that cannot be displayed")
		}
	}
	for _, v := range inner.list("tags", MaxTags) {
		text, ok := v.(string)
		if !ok || !tag().MatchString(text) {
			inner.fail(Unprocessable, "tags", fmt.Sprintf("must contain strings of 1 to %d letters, digits and _ : . -", MaxTag))
			break
		}
		c.Tags = append(c.Tags, text)
	}
	o.err = inner.err
	return c
}

// An Agent is an entry in the result of discover.
type Agent struct {
	PublicKey    Key          `json:"public_key"`
	DisplayName  *string      `json:"display_name,omitempty"`
	LastActiveAt time.Time    `json:"last_active_at"`
	Capabilities []Capability `json:"capabilities"`
}

// Agents is one page of the result of discover.
type Agents struct {
	Agents     []Agent `json:"agents"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

// Capabilities lists all capabilities that one agent declares.
type Capabilities struct {
	PublicKey    Key          `json:"public_key"`
	Capabilities []Capability `json:"capabilities"`
}

// A TagCount is a tag with the number of public agents that have it.
type TagCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// TagCounts is one page of the tags of all public agents.
type TagCounts struct {
	Capabilities []TagCount `json:"capabilities"`
	HasMore      bool       `json:"has_more"`
	NextCursor   *string    `json:"next_cursor"`
}
