package doors

import (
	"context"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
)

// A Check is one point of the list. After names the check on which it depends: if that check does not pass, this one is skipped.
type Check struct {
	ID, Section string
	Level       point.Level
	Title       string
	After       string
	Run         func(*Doors, context.Context) point.Finding
}

// Checks lists the checks that need a valid PAT, in the order of the report.
var Checks = []Check{
	{"mcp-url", "UIM core 5.2", point.Must, "uim-mcp is an https URL at the same site", "agents-readable", (*Doors).mcpURL},
	{"mcp-endpoint", "MCP 2026-07-28 transports", point.Must, "the endpoint accepts messages by POST", "mcp-url", (*Doors).mcpEndpoint},
	{
		"mcp-challenge", "MCP 2026-07-28 authorization", point.Must, "a request without a token gets 401, with resource_metadata",
		"mcp-endpoint", (*Doors).mcpChallenge,
	},
	{
		"mcp-resource", "RFC 9728 3.3", point.Must, "the resource metadata describe uim-mcp and name an authorization server",
		"mcp-challenge", (*Doors).mcpResource,
	},
	{
		"mcp-resource-paths", "RFC 9728 3.1", point.Should, "the resource metadata are also at the path of the endpoint, and agree at the root",
		"mcp-resource", (*Doors).mcpResourcePaths,
	},
	{
		"mcp-authorization", "RFC 8414 3.3", point.Must, "the authorization server has metadata with its own name",
		"mcp-resource", (*Doors).mcpAuthorization,
	},
	{
		"mcp-pkce", "MCP 2026-07-28 authorization", point.Must, "the metadata name S256, which clients require",
		"mcp-authorization", (*Doors).mcpPKCE,
	},
	{
		"mcp-discover", "MCP 2026-07-28 server/discover", point.Must, "the server states its revisions and has the capability tools",
		"mcp-endpoint", (*Doors).mcpDiscover,
	},
	{
		"mcp-origin", "MCP 2026-07-28 transports", point.Must, "a request from another site's web page gets 403",
		"mcp-discover", (*Doors).mcpOrigin,
	},
	{"mcp-tools", "MCP 2026-07-28 tools", point.Must, "all tools can be listed, page by page", "mcp-discover", (*Doors).mcpTools},
	{
		"mcp-tool-names", "MCP 2026-07-28 tools", point.Should, "names of tools have 1 to 128 of the characters A-Z a-z 0-9 _ - and .",
		"mcp-tools", (*Doors).mcpToolNames,
	},
	{
		"mcp-tool-schemas", "MCP 2026-07-28 tools", point.Must, "each tool has an input schema, for an object",
		"mcp-tools", (*Doors).mcpToolSchemas,
	},
	{"mcp-intents", "uim-mcp", point.Should, "every intent is a tool, and every tool is an intent", "mcp-tools", (*Doors).mcpIntents},
	{"mcp-call", "uim-mcp", point.Must, "the result of a tool matches the outputs of the intent", "mcp-intents", (*Doors).mcpCall},
	{"mcp-limits", "uim-mcp", point.Should, "calls to tools count towards the same limits as other calls", "mcp-call", (*Doors).mcpLimits},
	{
		"mcp-refused", "MCP 2026-07-28 tools", point.Should, "a refused parameter results in isError, with the same reason as over HTTP",
		"mcp-intents", (*Doors).mcpRefused,
	},
	{
		"mcp-unknown-tool", "MCP 2026-07-28 tools", point.Should, "a call to an unknown tool gets the error -32602",
		"mcp-tools", (*Doors).mcpUnknownTool,
	},

	{"a2a-url", "UIM core 5.2", point.Must, "uim-a2a is an https URL at the same site", "agents-readable", (*Doors).a2aURL},
	{"a2a-card", "A2A 1.0 8.2", point.Must, "there is an agent card with all required members", "a2a-url", (*Doors).a2aCard},
	{
		"a2a-interfaces", "A2A 1.0 8.3.1", point.Must, "the interfaces of the card are at the same site, and uim-a2a is one of them",
		"a2a-card", (*Doors).a2aInterfaces,
	},
	{"a2a-signed", "A2A 1.0 8.4", point.May, "the card is signed", "a2a-card", (*Doors).a2aSigned},
	{
		"a2a-signatures", "A2A 1.0 8.4.3", point.Must, "the card is signed with keys that the service publishes",
		"a2a-signed", (*Doors).a2aSignatures,
	},
	{"a2a-skills", "uim-a2a", point.Should, "every intent is a skill, and every skill is an intent", "a2a-card", (*Doors).a2aSkills},
	{
		"a2a-challenge", "A2A 1.0 7.4", point.Should, "a request without a token gets 401, with a challenge",
		"a2a-interfaces", (*Doors).a2aChallenge,
	},
	{
		"a2a-task-unknown", "A2A 1.0 5.4", point.Must, "a request for an unknown task gets TaskNotFoundError",
		"a2a-interfaces", (*Doors).a2aTaskUnknown,
	},
	{
		"a2a-version", "A2A 1.0 3.6.2", point.Must, "an unsupported version gets VersionNotSupportedError",
		"a2a-task-unknown", (*Doors).a2aVersion,
	},
	{"a2a-call", "uim-a2a", point.Must, "the result of a task matches the outputs of the intent", "a2a-task-unknown", (*Doors).a2aCall},
	{"a2a-limits", "uim-a2a", point.Should, "tasks count towards the same limits as other calls", "a2a-call", (*Doors).a2aLimits},
	{
		"a2a-refused", "uim-a2a", point.Should, "a refused parameter does not complete a task, and has the same reason as over HTTP",
		"a2a-task-unknown", (*Doors).a2aRefused,
	},

	{
		"a2a-http", "A2A 1.0 11.6", point.Must, "if HTTP+JSON is announced, an unknown task gets 404 there",
		"a2a-task-unknown", (*Doors).a2aHTTP,
	},

	{
		"uagents-url", "uim-uagents", point.Must, "uim-uagents is the address of an agent, and its endpoint is at the same site",
		"agents-readable", (*Doors).uagentsURL,
	},
	{"uagents-here", "uAgents exchange", point.Should, "HEAD reports whether an agent exists", "uagents-url", (*Doors).uagentsHere},
	{
		"uagents-answers", "UIMProtocol 1.0.0", point.Must, "the response to UIMPolicyRequest is signed with the key of the address",
		"uagents-url", (*Doors).uagentsAnswers,
	},
	{
		"uagents-forged", "uAgents exchange", point.Must, "an envelope that was changed gets 400",
		"uagents-answers", (*Doors).uagentsForged,
	},
	{
		"uagents-expired", "uAgents exchange", point.Must, "an expired envelope is not answered normally",
		"uagents-answers", (*Doors).uagentsExpired,
	},

	{
		"ai-catalog", "AI Catalog 1.0", point.Should, "the AI catalog has the specified form, and the addresses in it exist",
		"agents-readable", (*Doors).aiCatalog,
	},
	{
		"api-catalog", "RFC 9727 4", point.Should, "the API catalog is a linkset, and the addresses in it exist",
		"agents-readable", (*Doors).apiCatalog,
	},
	{
		"server-card", "MCP server card", point.Should, "the server card has the specified form, and names uim-mcp",
		"agents-readable", (*Doors).serverCard,
	},
}

// Revoked lists the checks for a revoked PAT.
var Revoked = []Check{
	{"mcp-revoked", "MCP 2026-07-28 authorization", point.Must, "MCP answers 401 to a revoked PAT", "revoked-refused", (*Doors).mcpRevoked},
	{"a2a-revoked", "A2A 1.0 7.4", point.Must, "A2A answers 401 to a revoked PAT", "revoked-refused", (*Doors).a2aRevoked},
}
