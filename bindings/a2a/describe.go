package a2a

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	described = 20      // intents in one response
	maxQuery  = 1 << 10 // bytes of the text of a message that the search uses
	maxSchema = 64 << 10
)

// An about describes one intent in the response to a plain-text message.
type about struct {
	UID         string          `json:"intent_uid"`
	Description string          `json:"description,omitempty"`
	Input       any             `json:"input_schema,omitempty"`
	Output      any             `json:"output_schema,omitempty"`
	Price       string          `json:"price"`
	Example     json.RawMessage `json:"example"`
}

// describe responds to a plain-text message without using a language model. The response describes the service, the input that the service
// expects, and the intents that match the text; if none match, it describes the first intents of the catalogue.
func (x *exchange) describe(m *message) {
	s := x.Service.Definition
	request := strings.ToValidUTF8(m.text[:min(len(m.text), maxQuery)], "")
	found := s.Catalog.Search(intents.Query{Text: request, PageSize: described})
	if found.TotalResults == 0 {
		found = s.Catalog.Search(intents.Query{PageSize: described})
	}
	var text strings.Builder
	text.WriteString(nameOf(s) + ": " + descriptionOf(s) + "\n\n")
	text.WriteString("Send this agent a part with data: {\"intent_uid\": …, \"parameters\": {…}}. Its intents")
	if len(found.Intents) < len(s.Offered()) {
		text.WriteString(" that match best (all are listed at " + s.At("/api/intents/search") + "?view=brief)")
	}
	text.WriteString(":\n")
	list := []about{}
	for _, in := range found.Intents {
		offered, err := s.Intent(in.UID.String())
		if err != nil {
			continue
		}
		a := about{
			UID: offered.ID, Description: in.Description, Price: page.ShortTerms(x.r.Context(), s, offered), Example: exampleOf(in),
			Input: bounded(in.InputSchema()),
		}
		if out := in.OutputSchema(); out != nil {
			a.Output = bounded(out)
		}
		list = append(list, a)
		text.WriteString("- " + a.UID + ": " + oneLine(a.Description) + " (" + a.Price + ")\n")
	}
	text.WriteString("\nPolicy: " + s.At("/api/policy"))
	members := map[string]any{
		"intents": list, "policy": s.PolicyRef(), "pat_issue": s.At("/api/pat/issue"), "search_url": s.At("/api/intents/search"),
		"total": found.TotalResults,
	}
	if next := s.Successor(); next != nil {
		members["policy_successor"] = next
	}
	data, err := json.Marshal(members)
	if err != nil {
		x.refuse(reason.Internal.Refusal("The response could not be encoded.").Because(err))
		return
	}
	x.reply(m, text.String(), data)
}

// reply responds to m with a message that consists of text and data, which must be JSON. If m has no context id, reply generates one. A2A
// 1.0, 4.1.4.
func (x *exchange) reply(m *message, text string, data []byte) {
	if m.contextID == "" {
		m.contextID = uuid.NewString()
	}
	written := func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Text("messageId", uuid.NewString())
		w.Text("contextId", m.contextID)
		w.Text("role", "ROLE_AGENT")
		w.Append("parts", func(out []byte) ([]byte, error) { return appendParts(out, text, data) })
		return w.End()
	}
	if x.stream {
		x.open().send("message", written)
		return
	}
	w := strictjson.NewWriter(nil)
	w.Append("message", written)
	x.finish(w.End())
}

// exampleOf returns the data of an example message that calls an intent with its required parameters.
func exampleOf(in *intents.Intent) json.RawMessage {
	_, values, _ := page.Example(in)
	text, err := strictjson.Append(nil, map[string]any{"intent_uid": in.UID.String(), "parameters": values})
	if err != nil {
		text, _ = strictjson.Append(nil, map[string]any{"intent_uid": in.UID.String()}) // strings can always be encoded
	}
	return text
}

// bounded returns a schema, or nil if its encoding is longer than maxSchema.
func bounded(schema strictjson.Object) any {
	if text, err := strictjson.Append(nil, schema); err != nil || len(text) > maxSchema {
		return nil
	}
	return schema
}

// oneLine replaces each run of white space in s with one space. If the result is longer than 200 bytes, oneLine cuts it off and appends an
// ellipsis.
func oneLine(s string) string {
	const most = 200 // bytes
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// nameOf returns the name of a service, or its issuer if it has no name.
func nameOf(s *service.Definition) string {
	return cmp.Or(strings.TrimSpace(s.Catalog.Service.Name), s.Issuer)
}

// descriptionOf returns the description of a service, or its name if it has no description.
func descriptionOf(s *service.Definition) string {
	return cmp.Or(strings.TrimSpace(s.Catalog.Service.Description), nameOf(s))
}
