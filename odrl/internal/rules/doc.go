// Package rules compiles the normal form of a policy to rules that OPA judges, for the two ways to ask a policy: a
// Program decides the calls that a gateway enforces, an Evaluable answers any question about any policy.
//
//	normal     document → rules: one action, one target, at most one assignee each
//	target     names of intents → sets of intents, once, against the World; never by string prefix
//	compile    constraints → leaves and logical nodes, for either way to ask; leaf: one row for each kind of operand
//	limits     count and rateLimit → limit.Limit; counting is the store's, a decision names what to count
//	duties     pay → charges, signPayload → keys, attribute and the audit duties
//	analyst    what rules do to one another: conflicts, duties to do what is prohibited, rules that are never active
//	conflicts  which rules meet in the world of a policy that is enforced; limits and charges that do not fit
//	satisfy    which constraints go together, and an example of facts that meet them: ranges and sets of texts (domain)
//	data       rules → the data that semantics.rego reads
//	evaluable  rules and duties as written → the data that report.rego reads
//	engine     OPA, with no more built-ins than the modules need
//
// What is not understood, or could not be enforced, refuses the policy: nothing in it is dropped in silence.
package rules
