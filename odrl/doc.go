// Package odrl says what a service's terms are and decides by them: an ODRL 2.2 policy, written as
// loosely as UIM documents are, becomes a Policy, and a Policy and a Request become a Decision.
//
// The way of a document through the package, one layer a file or two:
//
//	nodes      JSON tree → nodes: what the document says about one IRI, wherever it stands
//	read       nodes → documents: every key consumed or reported, every term resolved
//	expand     document → document: links from outside, inheritance and shared properties copied in (ODRL IM 2.7, 2.9)
//	check      what ODRL IM 2.2 does not allow; advise: what others may read differently
//	atoms      document → normal form: one action, one target and one party of each function a rule (ODRL IM 2.7)
//	clash      normal form → conflicts, rules that are never active; satisfy: which constraints go together
//	write      document → canonical JSON-LD
//
// Publish goes on from there with what names mean to the gateway:
//
//	normal     document → rules: one action, one target, at most one assignee each
//	target     names of intents → sets of intents, once, against the World; never by string prefix
//	compile    constraints → leaves and logical nodes, each with the slot its facts come from
//	limits     count and rateLimit → limit.Limit; counting is the store's, the Decision names what to count
//	duties     pay → charges, signPayload → keys, attribute and the audit duties → Duty
//	conflicts  what rules do to one another, told when publishing
//	data       rules → the data that semantics.rego reads
//	engine     OPA, with no more built-ins than the module needs
//	partial    what is left of the module for one policy when only the input is unknown
//	residual   that rest → formulas, each made once
//	plan       formulas over the values of a request, held against OPA before they decide
//	decide     Request → the plan's answer, or OPA's → Decision
//	evaldata   rules and duties as written → the data that report.rego reads
//	situation  Question and WorldState → input: names closed over hierarchies and collections, facts typed
//	evaluate   what report.rego finds → Evaluation, with a report per rule (ODRL IM 2, in full)
//	extra      the operator's own Rego, which can refuse what a policy permits
//	bundle     a policy for plain OPA
//
// What is not understood, or could not be enforced, refuses the policy: nothing in it is dropped in
// silence. What is not known when deciding never helps the caller: a constraint is true, false or
// unknown, a permission needs true, and a prohibition or obligation binds unless false.
//
// The usual call:
//
//	policy, problems := odrl.Publish(ctx, document, world)
//	if policy == nil {
//		return problems
//	}
//	decision, err := policy.Decide(ctx, odrl.Request{AgentID: "agent-1", Intent: uid, Now: now()})
//	if err != nil || !decision.Permit {
//		// denied
//	}
//
// A Decision never reads a counter: the caller reserves the Limits and the Charge of one of its
// Candidates, all or none, in their order, and only then makes the call.
//
// Load, Validate and Canonical take any ODRL 2.2 document: compact, expanded or flattened JSON-LD, with
// several policies, collections, refinements, inheritance, remedies and consequences. No context, profile
// or right operand is ever fetched. What is not supported there: policies and profiles outside of the
// document, a @base, a @vocab other than ODRL's, and contexts within nodes.
//
// Not supported by Publish, and refused by name: remedies and consequences, refinements of assets and
// parties, values by reference, constraints that no fact of a call could tell, and duties it has no
// handler for.
package odrl
