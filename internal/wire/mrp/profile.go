package mrp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
	"unicode"

	"github.com/uimgate/uimgate/internal/strictjson"
)

type (
	// Visibility decides who can find an agent.
	Visibility string
	// InboxPolicy decides who may send to it.
	InboxPolicy string
	// AgentStatus decides whether it may use the relay.
	AgentStatus string
)

// The values in a profile. A private agent cannot be found, but accepts messages of agents that know its key.
const (
	Public  Visibility = "public"
	Private Visibility = "private"

	Open      InboxPolicy = "open"      // all agents may send
	Closed    InboxPolicy = "closed"    // no agent may send
	AllowList InboxPolicy = "allowlist" // only agents with an entry that allows them
	BlockList InboxPolicy = "blocklist" // all agents without an entry that blocks them

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

// A Capability is a capability that an agent declares.
type Capability struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Tags        []string        `json:"tags"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"` // JSON Schema, an object
	Version     string          `json:"version,omitempty"`
}

// A Change has an agent's changes to its profile; nil fields stay unchanged.
type Change struct {
	DisplayName  *string         `json:"display_name,omitempty"` // "": none
	Visibility   Visibility      `json:"visibility,omitempty"`
	InboxPolicy  InboxPolicy     `json:"inbox_policy,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`    // an object
	Capabilities []Capability    `json:"capabilities,omitzero"` // none, if empty and not nil
}

var tag = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_:.-]{1,%d}$`, MaxTag))

// ReadChange reads the body of a request that changes a profile. The errors are of codes bad_request and unprocessable_entity.
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
			o.fail(Unprocessable, "display_name", "has characters that cannot be shown")
		}
	}
	if o.has("capabilities") {
		c.Capabilities = []Capability{}
		for i, item := range o.list("capabilities", MaxCapability) {
			c.Capabilities = append(c.Capabilities, o.capability(i, item))
		}
	}
	if o.err != nil {
		o.err.Code = Unprocessable // all problems of a well-formed document
		return Change{}, o.err
	}
	return c, nil
}

// Shown reports whether a text can be shown to people: it has neither control characters nor characters that change the direction of
// text.
func Shown(text string) bool {
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

func (o *object) capability(i int, item any) (c Capability) {
	at := fmt.Sprintf("capabilities/%d/", i)
	if name, ok := item.(string); ok { // the form of older agents
		item = map[string]any{"name": name, "tags": []any{name}}
	}
	members, ok := strictjson.AsObject(item)
	if !ok {
		o.fail(Unprocessable, "capabilities", "has to have objects with a name, a description and tags")
		return c
	}
	inner := &object{members: members, at: at, err: o.err}
	c = Capability{
		Name: inner.required("name", MaxName), Description: inner.text("description", MaxDescription), Tags: []string{},
		InputSchema: inner.object("input_schema", MaxSchema), Version: inner.text("version", MaxVersion),
	}
	for _, text := range []string{c.Name, c.Version} {
		if !Shown(text) {
			inner.fail(Unprocessable, "name", "has characters that cannot be shown")
		}
	}
	for _, v := range inner.list("tags", MaxTags) {
		text, ok := v.(string)
		if !ok || !tag.MatchString(text) {
			inner.fail(Unprocessable, "tags", fmt.Sprintf("has to have texts of 1 to %d letters, digits and _ : . -", MaxTag))
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

// Agents is a page of discover.
type Agents struct {
	Agents     []Agent `json:"agents"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

// Capabilities are all capabilities that an agent declares.
type Capabilities struct {
	PublicKey    Key          `json:"public_key"`
	Capabilities []Capability `json:"capabilities"`
}

// A TagCount is a tag and how many public agents have it.
type TagCount struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// TagCounts is a page of the tags of all public agents.
type TagCounts struct {
	Capabilities []TagCount `json:"capabilities"`
	HasMore      bool       `json:"has_more"`
	NextCursor   *string    `json:"next_cursor"`
}
