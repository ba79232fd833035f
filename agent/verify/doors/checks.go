package doors

import (
	"context"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

// A Check is one point of the list. After names the check that it depends on: if that does not pass, this one is skipped.
type Check struct {
	ID, Section string
	Level       point.Level
	Title       string
	After       string
	Run         func(*Doors, context.Context) point.Finding
}

// Checks lists the checks that need a valid PAT, in the order of the report.
var Checks = []Check{
	{"mcp-url", "UIM core 5.2", point.Must, "uim-mcp is https, at the same site", "agents-readable", (*Doors).mcpURL},
	{"mcp-endpoint", "MCP 2026-07-28 transports", point.Must, "messages are taken there, by POST", "mcp-url", (*Doors).mcpEndpoint},
	{
		"mcp-challenge", "MCP 2026-07-28 authorization", point.Must, "without a token it is 401, with resource_metadata",
		"mcp-endpoint", (*Doors).mcpChallenge,
	},
	{
		"mcp-resource", "RFC 9728 3.3", point.Must, "the metadata of the resource are of uim-mcp, and name who gives tokens",
		"mcp-challenge", (*Doors).mcpResource,
	},
	{
		"mcp-resource-paths", "RFC 9728 3.1", point.Should, "they are found by the path of the endpoint, and agree at the root",
		"mcp-resource", (*Doors).mcpResourcePaths,
	},
	{
		"mcp-authorization", "RFC 8414 3.3", point.Must, "who gives tokens has metadata under its own name",
		"mcp-resource", (*Doors).mcpAuthorization,
	},
	{
		"mcp-pkce", "MCP 2026-07-28 authorization", point.Must, "the metadata name S256, without which clients stop",
		"mcp-authorization", (*Doors).mcpPKCE,
	},
	{
		"mcp-discover", "MCP 2026-07-28 server/discover", point.Must, "it has its revisions, and the capability of tools",
		"mcp-endpoint", (*Doors).mcpDiscover,
	},
	{
		"mcp-origin", "MCP 2026-07-28 transports", point.Must, "a request of a stranger's web page is 403",
		"mcp-discover", (*Doors).mcpOrigin,
	},
	{"mcp-tools", "MCP 2026-07-28 tools", point.Must, "tools are listed, page by page, to an end", "mcp-discover", (*Doors).mcpTools},
	{
		"mcp-tool-names", "MCP 2026-07-28 tools", point.Should, "names of tools have 1 to 128 of A-Z a-z 0-9 _ - and .",
		"mcp-tools", (*Doors).mcpToolNames,
	},
	{
		"mcp-tool-schemas", "MCP 2026-07-28 tools", point.Must, "each tool has a schema of its input, for an object",
		"mcp-tools", (*Doors).mcpToolSchemas,
	},
	{"mcp-intents", "uim-mcp", point.Should, "every intent is a tool, and every tool an intent", "mcp-tools", (*Doors).mcpIntents},
	{"mcp-call", "uim-mcp", point.Must, "the answer of a tool fits the outputs of the intent", "mcp-intents", (*Doors).mcpCall},
	{"mcp-limits", "uim-mcp", point.Should, "its calls count under the limits of the others", "mcp-call", (*Doors).mcpLimits},
	{
		"mcp-refused", "MCP 2026-07-28 tools", point.Should, "a refused parameter is isError, with the reason that HTTP gives",
		"mcp-intents", (*Doors).mcpRefused,
	},
	{
		"mcp-unknown-tool", "MCP 2026-07-28 tools", point.Should, "a tool that is not there is the error -32602",
		"mcp-tools", (*Doors).mcpUnknownTool,
	},

	{"a2a-url", "UIM core 5.2", point.Must, "uim-a2a is https, at the same site", "agents-readable", (*Doors).a2aURL},
	{"a2a-card", "A2A 1.0 8.2", point.Must, "there is an agent card with what a card must have", "a2a-url", (*Doors).a2aCard},
	{
		"a2a-interfaces", "A2A 1.0 8.3.1", point.Must, "its interfaces are at the same site, and uim-a2a is one",
		"a2a-card", (*Doors).a2aInterfaces,
	},
	{"a2a-signed", "A2A 1.0 8.4", point.May, "the card is signed", "a2a-card", (*Doors).a2aSigned},
	{
		"a2a-signatures", "A2A 1.0 8.4.3", point.Must, "its signatures are by keys the service publishes",
		"a2a-signed", (*Doors).a2aSignatures,
	},
	{"a2a-skills", "uim-a2a", point.Should, "every intent is a skill, and every skill an intent", "a2a-card", (*Doors).a2aSkills},
	{"a2a-challenge", "A2A 1.0 7.4", point.Should, "without a token it is 401, with a challenge", "a2a-interfaces", (*Doors).a2aChallenge},
	{
		"a2a-task-unknown", "A2A 1.0 5.4", point.Must, "a task that is not there is TaskNotFoundError",
		"a2a-interfaces", (*Doors).a2aTaskUnknown,
	},
	{
		"a2a-version", "A2A 1.0 3.6.2", point.Must, "a version it does not speak is VersionNotSupportedError",
		"a2a-task-unknown", (*Doors).a2aVersion,
	},
	{"a2a-call", "uim-a2a", point.Must, "the answer of a task fits the outputs of the intent", "a2a-task-unknown", (*Doors).a2aCall},
	{"a2a-limits", "uim-a2a", point.Should, "its calls count under the limits of the others", "a2a-call", (*Doors).a2aLimits},
	{
		"a2a-refused", "uim-a2a", point.Should, "a refused parameter is not a task that is done, and has the reason that HTTP gives",
		"a2a-task-unknown", (*Doors).a2aRefused,
	},

	{
		"a2a-http", "A2A 1.0 11.6", point.Must, "where HTTP+JSON is announced, such a task is 404 there",
		"a2a-task-unknown", (*Doors).a2aHTTP,
	},

	{
		"uagents-url", "uim-uagents", point.Must, "uim-uagents is an address of an agent, and its endpoint is at the same site",
		"agents-readable", (*Doors).uagentsURL,
	},
	{"uagents-here", "uAgents exchange", point.Should, "HEAD reports whether an agent is there", "uagents-url", (*Doors).uagentsHere},
	{
		"uagents-answers", "UIMProtocol 1.0.0", point.Must, "UIMPolicyRequest is answered, signed by the key that the address is",
		"uagents-url", (*Doors).uagentsAnswers,
	},
	{
		"uagents-forged", "uAgents exchange", point.Must, "an envelope that was changed is refused with 400",
		"uagents-answers", (*Doors).uagentsForged,
	},
	{
		"uagents-expired", "uAgents exchange", point.Must, "an envelope that has expired is not answered like any other",
		"uagents-answers", (*Doors).uagentsExpired,
	},

	{
		"ai-catalog", "AI Catalog 1.0", point.Should, "the AI catalog has its form, and what it names is there",
		"agents-readable", (*Doors).aiCatalog,
	},
	{
		"api-catalog", "RFC 9727 4", point.Should, "the API catalog is a linkset, and what it names is there",
		"agents-readable", (*Doors).apiCatalog,
	},
	{
		"server-card", "MCP server card", point.Should, "the server card has its form, and names uim-mcp",
		"agents-readable", (*Doors).serverCard,
	},
}

// Revoked lists the checks for a revoked PAT.
var Revoked = []Check{
	{"mcp-revoked", "MCP 2026-07-28 authorization", point.Must, "MCP answers a revoked PAT 401", "revoked-refused", (*Doors).mcpRevoked},
	{"a2a-revoked", "A2A 1.0 7.4", point.Must, "A2A answers a revoked PAT 401", "revoked-refused", (*Doors).a2aRevoked},
}
