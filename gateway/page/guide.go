package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/odrl/words"
)

// Limits of the guides for coding agents and for language models.
const (
	guideIntents  = 50     // the maximum number of intents that are listed by name
	guideRules    = 60     // the maximum number of sentences of the policy
	guideText     = 300    // the maximum length of a description, in bytes
	guideExamples = 3      // the maximum number of calls in the guide for coding agents
	guideBytes    = 48_000 // maximum size of the list of intents, and of the list of rules, in bytes
)

// A guide is a document in Markdown.
type guide struct {
	strings.Builder
	s *service.Definition
}

func (g *guide) line(format string, args ...any) { fmt.Fprintf(g, format+"\n", args...) }

// link writes an entry of a list that links to a path of the service.
func (g *guide) link(title, address, about string) { g.line("- [%s](%s): %s", title, address, about) }

// LLMs returns /llms.txt: what the service offers, and where a language model can read more. See llmstxt.org.
func LLMs(ctx context.Context, s *service.Definition) []byte {
	g := &guide{s: s}
	g.line("# %s\n", g.name())
	g.line("> %s\n", g.about())
	g.line("Each call needs a token (PAT), which an agent gets when it signs the policy of the service. The policy (%s) states what is permitted, "+
		"what it costs and how often. Prices and limits below are a summary; only the policy is binding.\n", s.Offer().Digest)
	g.line("## Start here\n")
	g.link("Guide for coding agents", s.At("/AGENTS.md"), "how a program agrees, calls and handles refusals")
	g.link("Skill", s.At("/SKILL.md"), "the same for an assistant with a shell")
	g.link("The protocol", s.At(ProtocolPath), "each request and response, for programs without an SDK")
	if mcp := s.Announced().EntryPoint("mcp"); mcp != "" {
		g.link("MCP endpoint", mcp, "the intents as tools; tools can be listed without a token")
	}
	g.line("\n## Documents\n")
	g.link("agents.json", s.At("/agents.json"), "all intents with their parameters")
	g.link("Search", s.At("/api/intents/search")+"?view=brief&query=", "intents by words in their names and descriptions; it does not search what the service sells")
	g.link("Policy", s.At("/api/policy"), "the terms, as ODRL")
	g.link("OpenAPI", s.At("/openapi.json"), "the endpoints of the gateway")
	g.link("Errors", s.At("/errors"), "each reason of a refusal, and what to do")
	g.line("\n## Intents\n")
	g.intents(ctx)
	g.line("\n## Optional\n")
	g.line("- The rules of the policy in plain words:\n")
	g.rules()
	return []byte(g.String())
}

// AgentsMD returns /AGENTS.md: how a coding agent writes an integration with the service.
func AgentsMD(ctx context.Context, s *service.Definition) []byte {
	g := &guide{s: s}
	g.line("# Call %s from a program\n", g.name())
	g.line("%s\n", g.about())
	g.line("This page is for coding agents that write an integration. A program agrees to the policy of the service once, with a key of its own, and then " +
		"calls intents. A person must read the policy and accept its digest: do not accept it for them.\n")
	g.steps()
	g.line("## Calls\n")
	g.examples(ctx)
	g.receipts(ctx)
	g.line("## Handle refusals\n")
	g.line("Each refusal is JSON with `error.details.reason`, and `error.message` states what is wrong and what to do. [All reasons](%s).\n", s.At("/errors"))
	g.line("- `MISSING_PARAMETER`, `INVALID_PARAMETER`: correct the parameters named in `details.violations`.")
	g.line("- `RATE_LIMIT_EXCEEDED`, `QUOTA_EXCEEDED`: wait for the number of seconds in `Retry-After`.")
	g.line("- `EXPIRED_TOKEN`: renew the PAT; the SDKs do. `POLICY_REQUIRES_AGREEMENT`: the policy has changed; a person must read it and agree again.")
	g.line("- `OUTCOME_UNKNOWN`, or no response: send the same call again with the same `Idempotency-Key`. It is not executed or charged twice.\n")
	g.line("## Rules of the policy\n")
	g.rules()
	g.line("\n## Intents\n")
	g.intents(ctx)
	return []byte(g.String())
}

// Skill returns /SKILL.md: a skill for assistants that can run commands.
func Skill(ctx context.Context, s *service.Definition) []byte {
	g := &guide{s: s}
	g.line("---")
	g.line("name: %s", skillName(s.Issuer))
	g.line("description: %s", jsonText(cut(plainLine("Use the service "+g.name()+". "+g.about()), 1000)))
	g.line("---\n")
	g.line("# Use %s\n", g.name())
	g.steps()
	g.line("## Find and call an intent\n")
	g.line("Search first, then read the parameters of the best match, then call it:\n")
	g.line("```sh\ncurl -s '%s?view=brief&query=WORDS'\ncurl -s '%s/UID'\n```\n", s.At("/api/intents/search"), s.At("/api/intents"))
	g.examples(ctx)
	g.line("Report the price of a call before you make it, if it is not free. Never accept a changed policy without asking.\n")
	g.line("## Rules of the policy\n")
	g.rules()
	return []byte(g.String())
}

// PolicyMD returns /policy.md: the policy in plain words.
func PolicyMD(_ context.Context, s *service.Definition) []byte {
	g := &guide{s: s}
	g.line("# Terms of %s\n", g.name())
	g.line("The rules of the [policy](%s) with the digest `%s`, in plain words. Only the policy is binding.\n", s.At("/api/policy"), s.Offer().Digest)
	g.rules()
	return []byte(g.String())
}

// name returns the name of the service in one line.
func (g *guide) name() string {
	if name := plainLine(cut(g.s.Catalog.Service.Name, 200)); name != "" {
		return name
	}
	return g.s.Issuer
}

// about returns the description of the service in one line.
func (g *guide) about() string {
	if about := plainLine(cut(g.s.Catalog.Service.Description, 2*guideText)); about != "" {
		return about
	}
	return fmt.Sprintf("A service with %d intents for agents.", len(g.s.Offered()))
}

// steps explains how an agent gets a token with the program uimgate or an SDK.
func (g *guide) steps() {
	target := g.s.PublicURL.String()
	g.line("## Agree\n")
	g.line("The policy has the digest `%s`.\n", g.s.Offer().Digest)
	g.line("With the command line, which also keeps the key, renews the token and proves each call:\n")
	g.line("```sh\nuimgate agent policy %s   # prints the policy in plain words, and its digest\nuimgate agent agree %s --digest DIGEST\n```\n", target, target)
	g.line("With the SDK for TypeScript (`npm install uimgate`). A person runs this program once, reads what it prints, and runs it again with the digest:\n")
	g.line("```js\nimport { fileBudget, fileSession, keyFromFile, UimClient } from \"uimgate\";\n")
	g.line("const client = await UimClient.discover(%s, {", jsonText(target))
	g.line("  key: await keyFromFile(\"agent.pem\", { create: true }), session: fileSession(\"session.json\"), budget: fileBudget(\"spent.json\", \"5 EUR/day\"),\n});")
	g.line("if (!client.agreement) {\n  const policy = await client.policy();\n  if (process.argv[2] !== policy.digest) {")
	g.line("    console.log(await policy.explain(), `\\nTo accept these terms, run this program with the argument ${policy.digest}`);\n    process.exit(1);\n  }")
	g.line("  await client.agree(policy.digest);\n}\n```\n")
	g.line("A budget limits the prices of calls. It does not limit what the service itself sells: check the price of goods before you order.\n")
	g.line("The SDK for Python has the same functions: `client.policy().explain()`, `client.agree(DIGEST)`, `client.execute(INTENT, PARAMETERS)`.\n")
	if mcp := g.s.Announced().EntryPoint("mcp"); mcp != "" {
		g.line("For an assistant, run the bridge `uimgate mcp %s`, or connect it to `%s`.\n", target, mcp)
	}
	g.line("An integration without an SDK follows [the protocol](%s): it signs the policy, posts the agreement to `%s`, and sends the PAT with each "+
		"call to `%s`.\n", g.s.At(ProtocolPath), g.s.At("/api/pat/issue"), g.s.At("/api/intents/execute"))
}

// examples writes example calls to the first intents.
func (g *guide) examples(ctx context.Context) {
	for _, in := range g.s.Offered()[:min(len(g.s.Offered()), guideExamples)] {
		_, values, placeholders := Example(in.Intent)
		g.line("`%s` (%s):\n", in.ID, plainLine(ShortTerms(ctx, g.s, in)))
		g.line("```js\nawait client.execute(%s, %s);\n```\n", jsonText(in.ID), jsonText(values))
		if placeholders {
			g.line("Replace the values in angle brackets.\n")
		}
	}
}

// receipts writes an example call to the first intent with a price: with its idempotency key, its charge and its receipt.
func (g *guide) receipts(ctx context.Context) {
	offered := g.s.Offered()[:min(len(g.s.Offered()), guideIntents)]
	i := slices.IndexFunc(offered, func(in *service.Intent) bool { return charges(ctx, g.s, in) })
	if i < 0 {
		return
	}
	_, values, _ := Example(offered[i].Intent)
	g.line("A call with a price has a charge and a signed receipt. Choose an idempotency key before the first attempt, and keep the receipt together with " +
		"the call and the unchanged text of the output, because the receipt has only digests of them:\n")
	g.line("```js\nconst intent = %s, parameters = %s;", jsonText(offered[i].ID), jsonText(values))
	g.line("const result = await client.execute(intent, parameters, { idempotencyKey: \"task-4711\" });")
	g.line("console.log(result.output, result.charge, result.receipt);")
	g.line("console.log(await client.checkReceipt(result, intent, parameters)); // ok, and problems if there are any\n```\n")
}

// intents lists the first intents with their terms, and how to find the others.
func (g *guide) intents(ctx context.Context) {
	offered, end := g.s.Offered(), g.Len()+guideBytes
	listed := 0
	for _, in := range offered[:min(len(offered), guideIntents)] {
		if g.Len() > end {
			break
		}
		about := plainLine(cut(in.Description, guideText))
		about += " (" + plainLine(ShortTerms(ctx, g.s, in)) + ")"
		g.link(plainLine(in.ID), g.s.At("/api/intents/"+url.PathEscape(in.ID)), strings.TrimSpace(about))
		listed++
	}
	if more := len(offered) - listed; more > 0 {
		g.line("- and %d more: search at %s", more, g.s.At("/api/intents/search")+"?view=brief&query=WORDS")
	}
}

// rules lists sentences of the policy.
func (g *guide) rules() {
	end := g.Len() + guideBytes
	list := words.Explain(g.s.Policy)
	for i, sentence := range list {
		if i == guideRules || g.Len() > end {
			g.line("- and %d more: %s", len(list)-i, g.s.At("/api/policy"))
			return
		}
		g.line("- %s", plainLine(sentence.Text))
		for _, term := range sentence.Terms {
			g.line("  - %s", plainLine(term))
		}
	}
}

// plainLine returns text of an operator as one line in which Markdown finds no link, heading or code.
func plainLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.C, r):
			return -1
		case r == '`':
			return '\''
		case r == '[' || r == '<':
			return '('
		case r == ']' || r == '>':
			return ')'
		}
		return r
	}, text)
	return strings.TrimLeft(strings.Join(strings.Fields(text), " "), "#-*> ")
}

// skillName returns the name of the skill of an issuer: at most 64 lowercase letters, digits and hyphens.
func skillName(issuer string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(toolname.Domain(issuer))), "-")
	return cutName(name)
}

func cutName(name string) string {
	const most = 64
	if name == "" {
		return "service"
	}
	return strings.Trim(name[:min(len(name), most)], "-")
}
