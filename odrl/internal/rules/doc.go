// Package rules compiles the normal form of a policy to rules for OPA, in two forms: a Program decides the calls that a gateway enforces,
// an Evaluable answers any question about any policy.
//
//	normal     document → rules: one action, one target, at most one assignee each
//	target     names of intents → sets of intents, once, against the World; never by string prefix
//	compile    constraints → leaves and logical nodes, for either form; leaf: one row for each kind of operand
//	limits     count and rateLimit → limit.Limit; the store counts, a decision names what to count
//	duties     pay → charges, signPayload → keys, attribute and the audit duties
//	analyst    how rules affect each other: conflicts, duties to do what is prohibited, rules that are never active
//	conflicts  which rules meet in the world of an enforced policy; limits and charges that do not fit
//	satisfy    which constraints go together, and an example of facts that meet them: ranges and sets of texts (domain)
//	data       rules → the data that semantics.rego reads
//	evaluable  rules and duties as written → the data that report.rego reads
//	engine     OPA, with no more built-ins than the modules need
//
// What is not understood, or could not be enforced, refuses the policy: nothing in it is silently dropped.
package rules
