// Package rules compiles the normal form of a policy into rules for OPA, in two forms: a Program decides the calls to a gateway, and an
// Evaluable answers any question about any policy.
//
//	normal     document → rules, each with one action, one target and at most one assignee
//	target     names of intents → sets of intents, resolved once in the World and never compared by string prefix
//	compile    constraints → leaves and logical nodes, for either form; leaf has one row for each kind of operand
//	limits     count and rateLimit → limit.Limit; the store counts, and a decision names the counters
//	duties     pay → charges, signPayload → keys; also attribute and the audit duties
//	analyst    how rules affect each other: conflicts, duties to perform prohibited actions, rules that are never active
//	conflicts  which rules of an enforced policy can apply to one call; limits without effect, charges that cannot be added
//	satisfy    which constraints can hold together, with an example of facts; domain has the ranges and sets of texts
//	data       rules → the data that semantics.rego reads
//	evaluable  rules and duties as written → the data that report.rego reads
//	engine     OPA, with only the built-ins that the modules need
//
// Compile refuses a policy with anything that it does not understand or that the gateway cannot enforce: nothing is silently dropped.
package rules
