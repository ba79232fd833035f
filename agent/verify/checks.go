package verify

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/agent/verify/doors"
)

// A check is one point of the list. After names the check that it depends on: if that does not pass, this one is skipped.
type check struct {
	id      string
	section string
	level   Level
	title   string
	after   string
	run     func(*verification, context.Context) finding
}

// checks lists all checks, in the order of the report.
var checks = slices.Concat(beforeDoors, doorChecks(doors.Checks), renewals, doorChecks(doors.Revoked), atLast)

// beforeDoors are the checks that can be made with a PAT before the doors are checked.
var beforeDoors = []check{
	{"dns-agents-file", "UIM core 5.1", Should, "DNS has the address of agents.json", "", (*verification).dnsAgentsFile},
	{"dns-policy-file", "UIM core 5.1", Should, "DNS has the address of the policy", "dns-agents-file", (*verification).dnsPolicyFile},
	{"dns-agrees", "UIM core 5.1", Should, "DNS and agents.json agree", "dns-agents-file", (*verification).dnsAgrees},

	{"agents-found", "UIM core 5.2", Must, "agents.json is there, within bounds", "", (*verification).agentsFound},
	{
		"agents-direct", "UIM core 5.3", Should, "agents.json is served by the site that is asked for it",
		"agents-found", (*verification).agentsDirect,
	},
	{"agents-type", "UIM core 5.2", Must, "agents.json is served as JSON", "agents-found", (*verification).agentsType},
	{
		"agents-json", "UIM core 5.2", Must, "agents.json is one JSON object, without duplicate members",
		"agents-found", (*verification).agentsJSON,
	},
	{"agents-readable", "UIM core 5.2", Must, "agents.json is UIM's", "agents-json", (*verification).agentsReadable},
	{"agents-dialect", "UIM core 5.2", Should, "agents.json is written as core has it", "agents-readable", (*verification).agentsDialect},
	{
		"agents-well-known", "RFC 8615 3", May, "agents.json is also at /.well-known/agents.json",
		"agents-json", (*verification).agentsWellKnown,
	},
	{"agents-etag", "RFC 9110 8.8.3", Should, "agents.json has an ETag", "agents-found", (*verification).agentsETag},
	{
		"agents-conditional", "RFC 9110 13.1.2", Should, "asked again under its ETag, agents.json is 304",
		"agents-etag", (*verification).agentsConditional,
	},

	{"service-name", "UIM core 5.2", Must, "service-info has a name", "agents-readable", (*verification).serviceName},
	{
		"service-description", "UIM core 5.2", Should, "service-info has a description and service_url",
		"agents-readable", (*verification).serviceDescription,
	},
	{"service-urls", "UIM core 5.2", Must, "URLs in agents.json are absolute, and https", "agents-readable", (*verification).serviceURLs},
	{"public-key", "UIM core 5.2", Must, "uim-public-key is a public key fit for use", "agents-readable", (*verification).publicKey},
	{"jwks", "RFC 7517 5", May, "the keys are also at /.well-known/jwks.json", "agents-readable", (*verification).keySet},
	{"jwks-agrees", "RFC 7517 5", Must, "uim-public-key is one of the key set", "jwks", (*verification).keySetAgrees},
	{
		"policy-file", "UIM core 5.2", Must, "uim-policy-file names the policy, at the same site",
		"agents-readable", (*verification).policyFile,
	},
	{
		"endpoints-site", "UIM core 5.2", Should, "discovery and execute URLs are at the same site",
		"agents-readable", (*verification).endpointsSite,
	},
	{"compliance", "UIM core 5.2", May, "uim-compliance has its form", "agents-readable", (*verification).compliance},
	{"license", "UIM core 5.1", May, "uim-license names a UIM license", "agents-readable", (*verification).license},

	{"intents-offered", "UIM core 1.1", Must, "there is an intent", "agents-readable", (*verification).intentsOffered},
	{"intent-uid", "UIM core 1.2", Must, "intent_uid is namespace:intent-name:version", "intents-offered", (*verification).intentUID},
	{"intent-unique", "UIM core 1.2", Must, "no intent_uid occurs twice", "intents-offered", (*verification).intentUnique},
	{"intent-namespace", "UIM core 1.2", Should, "namespaces are the service's own", "intents-offered", (*verification).intentNamespace},
	{"intent-names", "UIM core 1.1", Must, "intents have a name and a description", "intents-offered", (*verification).intentNames},
	{"parameter-form", "UIM core 2.2", Should, "parameters are lists of {name, type, …}", "intents-offered", (*verification).parameterForm},
	{"parameter-types", "UIM core 2.3", Must, "parameters have a type that UIM knows", "intents-offered", (*verification).parameterTypes},
	{"parameter-schemas", "UIM core 2.4", Must, "constraints make sense", "intents-offered", (*verification).parameterSchemas},
	{
		"parameter-defaults", "UIM core 2.2", Must, "defaults belong to optional parameters and keep their constraints",
		"intents-offered", (*verification).parameterDefaults,
	},
	{"parameter-described", "UIM core 2.2", May, "parameters are described", "intents-offered", (*verification).parameterDescribed},
	{"intent-outputs", "UIM core 2.2.2", Should, "intents declare their outputs", "intents-offered", (*verification).intentOutputs},
	{"intent-endpoint", "UIM core 1.1", Must, "intents name their endpoint", "intents-offered", (*verification).intentEndpoint},

	{"policy-served", "UIM core 4.2", Must, "the policy is there, within bounds", "agents-readable", (*verification).policyServed},
	{"policy-type", "UIM core 4.2", Should, "the policy is served as JSON", "policy-served", (*verification).policyType},
	{
		"policy-json", "UIM core 6.2", Must, "the policy is one JSON object, without duplicate members",
		"policy-served", (*verification).policyJSON,
	},
	{"policy-digest", "RFC 8785 3.2", Must, "the policy can be signed: its numbers survive", "policy-json", (*verification).policyDigest},
	{"policy-stable", "UIM core 4.2", Must, "fetched twice, the policy is the same", "policy-digest", (*verification).policyStable},
	{"policy-bytes", "UIM core 4.2", Should, "fetched twice, it is the same byte for byte", "policy-stable", (*verification).policyBytes},
	{"policy-etag", "RFC 9110 8.8.3", Should, "the policy has an ETag", "policy-served", (*verification).policyETag},
	{
		"policy-conditional", "RFC 9110 13.1.2", Should, "asked again under its ETag, the policy is 304",
		"policy-etag", (*verification).policyConditional,
	},
	{"policy-context", "UIM core 6.2", Should, "@context is ODRL's", "policy-json", (*verification).policyContext},
	{"policy-uid", "ODRL IM 2.1", Must, "the policy has a uid", "policy-json", (*verification).policyUID},
	{"policy-kind", "ODRL IM 2.1", Must, "its type is Set, Offer or Agreement", "policy-json", (*verification).policyKind},
	{"policy-profile", "UIM core 6.2", Should, "it names its profile", "policy-json", (*verification).policyProfile},
	{"policy-rules", "ODRL IM 2.1", Must, "it has a rule, and each rule an action", "policy-json", (*verification).policyRules},
	{"policy-targets", "UIM core 6.1", Must, "what it permits are intents of the service", "policy-rules", (*verification).policyTargets},
	{"policy-covers", "UIM core 6.1", Should, "it permits every intent that is offered", "policy-targets", (*verification).policyCovers},

	{"search-answers", "UIM core 5.4", Must, "intents can be searched", "agents-readable", (*verification).searchAnswers},
	{
		"search-shape", "UIM core 5.4", Must, "a search answers {\"intents\": […]} with their uids",
		"search-answers", (*verification).searchShape,
	},
	{"search-same", "UIM core 5.4", Should, "what it finds is as in agents.json", "search-shape", (*verification).searchSame},
	{
		"search-pagination", "UIM core 5.4", Should, "it has the number of intents, in pagination",
		"search-shape", (*verification).searchPagination,
	},
	{"search-page-size", "UIM core 5.4", Should, "page_size is kept", "search-pagination", (*verification).searchPageSize},
	{"search-pages", "UIM core 5.4", Should, "the second page goes on after the first", "search-page-size", (*verification).searchPages},
	{"search-bound", "UIM core 5.4", Should, "a huge page_size is cut to 100 or refused", "search-shape", (*verification).searchBound},
	{
		"search-bad-page-size", "UIM core 3.3", Should, "a page_size that is not a number is refused",
		"search-page-size", (*verification).searchBadPageSize,
	},
	{"search-uid", "UIM core 5.4", Must, "search by uid finds that intent alone", "search-shape", (*verification).searchUID},
	{"search-name", "UIM core 5.4", Should, "search by intent_name", "search-shape", (*verification).searchName},
	{"search-tags", "UIM core 5.4", Should, "search by tags", "search-shape", (*verification).searchTags},
	{"search-category", "UIM core 5.4", Should, "search by category", "search-shape", (*verification).searchCategory},
	{
		"search-description", "UIM core 5.4", Should, "search by a word of the description",
		"search-shape", (*verification).searchDescription,
	},
	{"search-nothing", "UIM core 5.4", Must, "what is not there is not found", "search-shape", (*verification).searchNothing},
	{"intent-found", "UIM core 5.4", Should, "one intent can be asked for by its uid", "agents-readable", (*verification).intentFound},
	{"intent-missing", "UIM core 3.3", Must, "an intent that is not there is 404", "intent-found", (*verification).intentMissing},

	{"error-404", "UIM core 3.3", Must, "a path that is not there is 404", "agents-found", (*verification).error404},
	{
		"error-405", "RFC 9110 15.5.6", Should, "a method that a path does not take is 405, with Allow",
		"agents-readable", (*verification).error405,
	},
	{"error-400", "UIM core 3.3", Must, "a body that is not JSON is 400", "agents-readable", (*verification).error400},
	{"error-415", "RFC 9110 15.5.16", Should, "a body of another media type is 415", "error-400", (*verification).error415},
	{"error-401", "UIM core 4.3", Must, "executing without a PAT is 401", "agents-readable", (*verification).error401},
	{
		"error-challenge", "RFC 9110 11.6.1", Must, "a 401 carries WWW-Authenticate, with Bearer",
		"error-401", (*verification).errorChallenge,
	},
	{"pat-garbage", "UIM core 4.3", Must, "a text that is not a PAT is 401", "agents-readable", (*verification).patGarbage},

	{"pat-issue", "UIM core 4.2", Must, "signing the policy gets a PAT", "policy-stable", (*verification).patIssue},
	{"pat-fresh", "UIM core 4.2", May, "an agreement bound to service, time and nonce is taken", "pat-issue", (*verification).patFresh},
	{"pat-no-store", "RFC 6749 5.1", Should, "the answer must not be stored", "pat-issue", (*verification).patNoStore},
	{"pat-jwt", "UIM core 4.1", Must, "the PAT is a JWT", "pat-issue", (*verification).patJWT},
	{"pat-answer", "UIM core 4.2", Should, "the answer has the end of the PAT, as the PAT does", "pat-jwt", (*verification).patAnswer},
	{"pat-algorithm", "RFC 8725 3.1", Must, "it is signed with a key pair: not none, not HS*", "pat-jwt", (*verification).patAlgorithm},
	{
		"pat-signature", "UIM core 4.3", Must, "its signature is by a key the service publishes",
		"pat-algorithm", (*verification).patSignature,
	},
	{"pat-type", "RFC 8725 3.11", May, "its header names its type", "pat-jwt", (*verification).patType},
	{"pat-claims", "UIM core 4.1.1", Must, "it has iss, sub, exp, nbf, jti and scope", "pat-jwt", (*verification).patClaims},
	{"pat-issuer", "UIM core 4.1.1", Must, "iss is the service", "pat-claims", (*verification).patIssuer},
	{"pat-subject", "UIM core 4.1.1", Must, "sub is the agent", "pat-claims", (*verification).patSubject},
	{"pat-times", "UIM core 4.1.1", Must, "nbf has come and exp has not, nor is it far off", "pat-claims", (*verification).patTimes},
	{
		"pat-scope", "UIM core 4.1.1", Must, "scope is a list of <intent_uid>:<operation> of intents offered",
		"pat-claims", (*verification).patScope,
	},
	{"pat-policy", "UIM core 4.1.2", Should, "pol names the policy", "pat-jwt", (*verification).patPolicy},
	{"pat-limits", "UIM core 4.1.2", May, "lmt has the limit", "pat-jwt", (*verification).patLimits},
	{
		"agreement-replayed", "UIM core 4.2", Should, "the same fresh agreement gets no second PAT",
		"pat-fresh", (*verification).agreementReplayed,
	},
	{
		"agreement-forged", "UIM core 4.2", Must, "an agreement signed with another key than it names is refused",
		"pat-issue", (*verification).agreementForged,
	},

	{"pat-tampered", "UIM core 4.3", Must, "a PAT with another signature is 401", "pat-algorithm", (*verification).patTampered},
	{"pat-altered", "UIM core 4.3", Must, "a PAT with other claims is 401", "pat-algorithm", (*verification).patAltered},
	{"pat-unsigned", "RFC 8725 3.1", Must, "a PAT with alg none is 401", "pat-algorithm", (*verification).patUnsigned},
	{"pat-hmac", "RFC 8725 3.1", Must, "a PAT signed HS256 with the public key as secret is 401", "pat-algorithm", (*verification).patHMAC},
	{"pat-other-key", "UIM core 4.3", Must, "a PAT signed with another key is 401", "pat-algorithm", (*verification).patOtherKey},

	{"execute-answers", "UIM core 3.2", Must, "a safe intent can be executed", "pat-jwt", (*verification).executeAnswers},
	{"execute-output", "UIM core 3.1.3", Must, "its answer fits its outputs", "execute-answers", (*verification).executeOutput},
	{
		"execute-limits", "RateLimit draft 11, 3", Should, "it has what is left of the limits",
		"execute-answers", (*verification).executeLimits,
	},
	{"execute-missing", "UIM core 3.1.1", Must, "a required parameter left out is 400", "execute-answers", (*verification).executeMissing},
	{"execute-unknown", "UIM core 3.1.1", Should, "a parameter it does not have is 400", "execute-answers", (*verification).executeUnknown},
	{
		"execute-wrong-type", "UIM core 3.1.1", Must, "a parameter of another type is 400",
		"execute-answers", (*verification).executeWrongType,
	},
	{
		"execute-constraint", "UIM core 3.1.1", Must, "a parameter beyond its constraints is 400",
		"execute-answers", (*verification).executeConstraint,
	},
	{"execute-no-intent", "UIM core 3.3", Must, "an intent that is not there is not executed", "pat-jwt", (*verification).executeNoIntent},
	{"execute-malformed", "UIM core 3.3", Must, "a call that is not JSON is 400", "execute-answers", (*verification).executeMalformed},
	{
		"execute-suggestion", "UIM core 3.1.4", Should, "a refused parameter comes with a suggestion",
		"execute-answers", (*verification).executeSuggestion,
	},
}

// renewals end when the PAT expires.
var renewals = []check{
	{"renew", "UIM core 4.4", Should, "a PAT is renewed, under another jti", "pat-claims", (*verification).renew},
	{"renewed-taken", "UIM core 4.4", Must, "the renewed PAT is taken", "renew", (*verification).renewedTaken},
	{"revoke", "UIM core 4.5", Should, "a PAT can be revoked by who has it", "pat-jwt", (*verification).revoke},
	{"revoked-refused", "UIM core 4.5", Must, "a revoked PAT is 401", "revoke", (*verification).revokedRefused},
}

// atLast judges all errors that were seen.
var atLast = []check{
	{"revoke-unknown", "RFC 7009 2.2", May, "revoking a text that is not a token is 200", "revoke", (*verification).revokeUnknown},
	{"pat-expired", "UIM core 4.3", Must, "an expired PAT is 401", "pat-claims", (*verification).patExpired},

	{
		"error-envelope", "UIM core 3.3", Must, "every error is {\"error\": {code, message}} in JSON",
		"agents-found", (*verification).errorEnvelope,
	},
	{
		"error-codes", "UIM core 3.3", Should, "codes of errors are symbols that fit the status",
		"error-envelope", (*verification).errorCodes,
	},
	{
		"error-failures", "UIM core 3.3", Must, "nothing that was asked made the service fail (5xx)",
		"agents-found", (*verification).errorFailures,
	},
	{
		"error-internals", "UIM core 3.1.4", Must, "no error reveals internals: stacks, SQL, paths, addresses",
		"agents-found", (*verification).errorInternals,
	},
	{"request-id", "UIM draft", May, "UIM-Request-ID comes back", "error-404", (*verification).requestID},
}
