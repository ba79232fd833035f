package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// profile responds with the profile of an agent. Anyone who knows the key of the agent can read the profile, even if it is private.
func (r *Relay) profile(c *call) (any, *wire.Error) {
	a, refused := r.agentOf(c)
	return profileOf(a), refused
}

func (r *Relay) agentOf(c *call) (mail.Agent, *wire.Error) {
	k, refused := c.pathKey("key")
	if refused != nil {
		return mail.Agent{}, refused
	}
	if k == c.key() {
		return c.agent, nil
	}
	a, err := r.store.Agent(c.Context(), k)
	return a, r.refusal(err, wire.AgentNotFound)
}

func (r *Relay) capabilities(c *call) (any, *wire.Error) {
	a, refused := r.agentOf(c)
	return wire.Capabilities{PublicKey: a.Key, Capabilities: capabilitiesOf(a)}, refused
}

func profileOf(a mail.Agent) wire.Profile {
	return wire.Profile{
		PublicKey: a.Key, DisplayName: nameOf(a), Status: wire.AgentStatus(a.Status), Visibility: wire.Visibility(a.Visibility),
		InboxPolicy: wire.InboxPolicy(a.Policy), Metadata: a.Metadata, Capabilities: capabilitiesOf(a), CreatedAt: a.CreatedAt.UTC(),
		LastActiveAt: a.LastActiveAt.UTC(),
	}
}

func nameOf(a mail.Agent) *string {
	if a.Name == "" {
		return nil
	}
	return &a.Name
}

func capabilitiesOf(a mail.Agent) []wire.Capability {
	list := []wire.Capability{}
	_ = json.Unmarshal(a.Capabilities, &list) // this relay encoded the list
	return list
}

// lineEnds removes newlines, carriage returns and tabs from a string.
var lineEnds = strings.NewReplacer("\n", "", "\r", "", "\t", "")

// change changes the caller's profile.
func (r *Relay) change(c *call) (any, *wire.Error) {
	change, refused := wire.ReadChange(c.body)
	if refused != nil {
		return nil, refused
	}
	for i, able := range change.Capabilities {
		if !wire.Shown(lineEnds.Replace(able.Description)) {
			return nil, wire.Refuse(wire.Unprocessable, fmt.Sprintf("capabilities/%d/description has characters that cannot be shown", i))
		}
	}
	a, refused := r.changes(c, change)
	return profileOf(a), refused
}

func (r *Relay) changes(c *call, change wire.Change) (mail.Agent, *wire.Error) {
	p, refused := recordOf(c.agent, change)
	if refused != nil {
		return mail.Agent{}, refused
	}
	a, err := r.update(c.Context(), c.key(), p)
	return a, r.refusal(err, wire.AgentNotFound)
}

// update changes an agent's record. If the record was changed by another request in the meantime, update recomputes the search words,
// because they depend on both changes.
func (r *Relay) update(ctx context.Context, key wire.Key, p mail.Profile) (mail.Agent, error) {
	a, err := r.store.Update(ctx, key, p)
	for written := p.Words; err == nil && written != nil; {
		words := wordsOf(a.Name, capabilitiesOf(a))
		if words == *written {
			break
		}
		written = &words
		a, err = r.store.Update(ctx, key, mail.Profile{Words: written})
	}
	return a, err
}

// recordOf converts a change of an agent's profile to a change of its record in the store.
func recordOf(a mail.Agent, change wire.Change) (mail.Profile, *wire.Error) {
	p := mail.Profile{Name: change.DisplayName, Metadata: change.Metadata}
	if change.Visibility != "" {
		p.Visibility = (*string)(&change.Visibility)
	}
	if change.InboxPolicy != "" {
		p.Policy = (*string)(&change.InboxPolicy)
	}
	list := capabilitiesOf(a)
	if change.Capabilities != nil {
		list = change.Capabilities
		text, err := json.Marshal(list)
		if err != nil {
			return mail.Profile{}, wire.Refuse(wire.Unprocessable, "capabilities cannot be encoded")
		}
		p.Capabilities, p.Tags = text, tagsOf(list)
	}
	if change.Capabilities != nil || change.DisplayName != nil {
		name := a.Name
		if change.DisplayName != nil {
			name = *change.DisplayName
		}
		words := wordsOf(name, list)
		p.Words = &words
	}
	return p, nil
}

// tagsOf returns the tags of all capabilities, sorted and without duplicates.
func tagsOf(list []wire.Capability) []string {
	tags := []string{}
	for _, c := range list {
		tags = append(tags, c.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// wordsOf returns the text in which searches look for words. The newlines between the parts of the text prevent a match from spanning two
// parts.
func wordsOf(name string, list []wire.Capability) string {
	texts := []string{name}
	for _, c := range list {
		texts = append(texts, c.Name, c.Description)
	}
	return fold(strings.Join(texts, "\n"))
}

// fold returns the form of text that case-insensitive searches compare.
func fold(text string) string { return strings.ToLower(strings.ToUpper(text)) }

// deleteAgent deletes the caller with all of its data, and closes its WebSockets. A later signed request creates the agent again.
func (r *Relay) deleteAgent(c *call) (any, *wire.Error) {
	blobs, err := r.store.Delete(c.Context(), c.key())
	if err != nil {
		return nil, r.refusal(err, wire.AgentNotFound)
	}
	r.rates.meet(c.key(), false)
	r.blobs.remove(blobs)
	r.hangUp(c.key(), "the agent was deleted")
	return nil, nil
}
