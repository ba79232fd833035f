package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/internal/fetch"
)

// A Via selects the protocol of a call. Results and errors are the same for all protocols, except for details that a protocol
// cannot carry.
type Via string

// The protocols.
const (
	ViaUIM Via = ""    // the execute endpoint
	ViaMCP Via = "mcp" // the MCP endpoint, as a tool call. MCP 2026-07-28
	ViaA2A Via = "a2a" // as a message to an agent. A2A 1.0
	// ViaUAgents sends the call in an envelope of the uAgents protocol. It requires Options.UAgent and is then the default.
	ViaUAgents Via = "uagents"
	// ViaMRP sends the call through a relay. It requires Options.Relay and is then the default.
	ViaMRP Via = "mrp"
)

const (
	agentCardPath = "/.well-known/agent-card.json"
	// timesOutput is the limit of a response through a door, as a multiple of the output's limit: a tool's output appears as JSON
	// and again as text, with its quotes escaped.
	timesOutput = 3
)

// door returns the door for a protocol and, for MCP, the tool name of an intent. The door is nil if the call goes to the execute endpoint,
// or through a relay. The client sends no secret.
func (s *Service) door(ctx context.Context, way Via, uid string) (door via.Door, tool string, err error) {
	if s.client.o.UAgent != nil && (way == ViaUIM || way == ViaUAgents) {
		door, err := s.uagents(ctx)
		return door, "", err
	}
	if s.client.relay != nil && (way == ViaUIM || way == ViaMRP) {
		return nil, "", nil // every request goes through the relay, including those to the execute endpoint
	}
	switch way {
	case ViaUIM:
		return nil, "", nil
	case ViaMRP:
		return nil, "", fmt.Errorf("%w: calls through a relay require Options.Relay", ErrOptions)
	case ViaUAgents:
		return nil, "", fmt.Errorf("%w: calls in envelopes require Options.UAgent", ErrOptions)
	case ViaMCP:
		at := s.Endpoints().MCP
		if at == "" {
			return nil, "", fmt.Errorf("%w: its agents.json has no uim-mcp", ErrNoDoor)
		}
		catalog, err := s.Catalog(ctx)
		if err != nil {
			return nil, "", err
		}
		return via.MCP{URL: at, Client: s.client.o.UserAgent}, toolname.Of(catalog, uid), nil
	case ViaA2A:
		a2a, err := s.agentCard(ctx)
		return a2a, "", err
	}
	return nil, "", fmt.Errorf("%w: unknown protocol %q", ErrOptions, clean(string(way)))
}

// agentCard returns the A2A interface from the service's agent card, which is fetched once. A2A 1.0, 8.2.
func (s *Service) agentCard(ctx context.Context) (via.A2A, error) {
	s.mu.Lock()
	known, at := s.a2a, s.session.Endpoints.A2A
	s.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	if at == "" {
		return via.A2A{}, fmt.Errorf("%w: its agents.json has no uim-a2a", ErrNoDoor)
	}
	named, err := url.Parse(at)
	if err != nil {
		return via.A2A{}, fmt.Errorf("%w: uim-a2a is not a URL", ErrNoDoor)
	}
	card, err := s.client.document(ctx, baseURL(at, []string{"a2a"})+agentCardPath, s.agentsURL(), s.client.o.MaxDocument, "")
	if err != nil {
		return via.A2A{}, fmt.Errorf("reading the agent card: %w", err)
	}
	found, err := via.ReadCard(card.Body, named)
	if err != nil {
		return via.A2A{}, fmt.Errorf("%w: %w", ErrNoDoor, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.a2a = &found
	return found, nil
}

// send sends one attempt of a call through its door. header is the header for the execute endpoint.
func (s *Service) send(ctx context.Context, session Session, c *call, header http.Header) (fetch.Answer, error) {
	op := executeOp
	op.wait = c.wait
	if c.door == nil {
		return s.post(ctx, op, session.Endpoints.Execute, header, c.body)
	}
	id := uuid.NewString()
	m, err := c.door.Message(via.Call{ID: id, UID: c.uid, Tool: c.tool, Parameters: c.parameters, Body: c.body, Header: header})
	if err != nil {
		return fetch.Answer{}, fmt.Errorf("%w: encoding them: %w", ErrParameters, err)
	}
	through := operation{
		name: executeOp.name, wait: c.wait,
		max:  func(client *Client) int64 { return timesOutput*executeOp.max(client) + maxErrorBody },
		read: func(a fetch.Answer) (fetch.Answer, error) { return s.readVia(c.door, id, a) },
	}
	return s.post(ctx, through, []string{m.URL}, m.Header, m.Body)
}

// readVia converts the response of a door to one of the execute endpoint, with the same limits. If the response cannot be read, the
// outcome of the call is unknown.
func (s *Service) readVia(door via.Door, id string, a fetch.Answer) (fetch.Answer, error) {
	if a.Status/100 == 3 {
		return a, nil
	}
	out, err := door.Read(id, a)
	switch most := executeOp.max(s.client); {
	case errors.Is(err, via.ErrAnswer):
		return fetch.Answer{}, &Error{
			Status: a.Status, Message: ErrAnswer.Error() + ": " + clean(err.Error()), Outcome: "unknown",
			RequestID: identifier(a.Header.Get("Uim-Request-Id")), cause: ErrAnswer,
		}
	case err == nil && int64(len(out.Body)) > most:
		return fetch.Answer{}, &fetch.Error{
			Origin: fetch.Origin(a.URL), Sent: true, Err: fmt.Errorf("%w than %d bytes", fetch.ErrTooLarge, most),
		}
	}
	return out, err
}
