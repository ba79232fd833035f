package verify

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/agent/verify/doors"
)

// A check is one point of the list. after names the check on which this one depends: if that check does not pass, this one is skipped.
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

// beforeDoors are the checks that run before the checks of doors.
var beforeDoors = []check{
	{"dns-agents-file", "UIM core 5.1", Should, "a DNS record gives the URL of agents.json", "", (*verification).dnsAgentsFile},
	{"dns-policy-file", "UIM core 5.1", Should, "a DNS record gives the URL of the policy", "dns-agents-file", (*verification).dnsPolicyFile},
	{"dns-agrees", "UIM core 5.1", Should, "the DNS records agree with agents.json", "dns-agents-file", (*verification).dnsAgrees},

	{"agents-found", "UIM core 5.2", Must, "agents.json exists and is not too large", "", (*verification).agentsFound},
	{"agents-direct", "UIM core 5.3", Should, "agents.json is served by the requested site", "agents-found", (*verification).agentsDirect},
	{"agents-type", "UIM core 5.2", Must, "agents.json is served as JSON", "agents-found", (*verification).agentsType},
	{
		"agents-json", "UIM core 5.2", Must, "agents.json is one JSON object, without duplicate members",
		"agents-found", (*verification).agentsJSON,
	},
	{"agents-readable", "UIM core 5.2", Must, "agents.json is a usable UIM document", "agents-json", (*verification).agentsReadable},
	{"agents-dialect", "UIM core 5.2", Should, "agents.json has the format of UIM core", "agents-readable", (*verification).agentsDialect},
	{
		"agents-well-known", "RFC 8615 3", May, "agents.json is also served at /.well-known/agents.json",
		"agents-json", (*verification).agentsWellKnown,
	},
	{"agents-etag", "RFC 9110 8.8.3", Should, "agents.json has an ETag", "agents-found", (*verification).agentsETag},
	{
		"agents-conditional", "RFC 9110 13.1.2", Should, "a request for agents.json with its ETag gets 304",
		"agents-etag", (*verification).agentsConditional,
	},

	{"service-name", "UIM core 5.2", Must, "service-info has a name", "agents-readable", (*verification).serviceName},
	{
		"service-description", "UIM core 5.2", Should, "service-info has a description and service_url",
		"agents-readable", (*verification).serviceDescription,
	},
	{"service-urls", "UIM core 5.2", Must, "URLs in agents.json are absolute and use https", "agents-readable", (*verification).serviceURLs},
	{"public-key", "UIM core 5.2", Must, "uim-public-key is a usable public key", "agents-readable", (*verification).publicKey},
	{"jwks", "RFC 7517 5", May, "the keys are also served at /.well-known/jwks.json", "agents-readable", (*verification).keySet},
	{"jwks-agrees", "RFC 7517 5", Must, "the key set contains uim-public-key", "jwks", (*verification).keySetAgrees},
	{"openapi", "OpenAPI 3.1", Should, "uim-openapi is the URL of a valid OpenAPI document", "agents-readable", (*verification).openAPI},
	{
		"policy-file", "UIM core 5.2", Must, "uim-policy-file is the URL of the policy, at the same site",
		"agents-readable", (*verification).policyFile,
	},
	{
		"endpoints-site", "UIM core 5.2", Should, "discovery and execute URLs are at the same site",
		"agents-readable", (*verification).endpointsSite,
	},
	{"compliance", "UIM core 5.2", May, "uim-compliance has the specified form", "agents-readable", (*verification).compliance},
	{"license", "UIM core 5.1", May, "uim-license names a UIM license", "agents-readable", (*verification).license},

	{"intents-offered", "UIM core 1.1", Must, "there is at least one intent", "agents-readable", (*verification).intentsOffered},
	{"intent-uid", "UIM core 1.2", Must, "intent_uid is namespace:intent-name:version", "intents-offered", (*verification).intentUID},
	{"intent-unique", "UIM core 1.2", Must, "no intent_uid occurs twice", "intents-offered", (*verification).intentUnique},
	{"intent-namespace", "UIM core 1.2", Should, "namespaces belong to the service", "intents-offered", (*verification).intentNamespace},
	{"intent-names", "UIM core 1.1", Must, "intents have a name and a description", "intents-offered", (*verification).intentNames},
	{"parameter-form", "UIM core 2.2", Should, "parameters are lists of {name, type, …}", "intents-offered", (*verification).parameterForm},
	{"parameter-types", "UIM core 2.3", Must, "parameters have a type that UIM defines", "intents-offered", (*verification).parameterTypes},
	{"parameter-schemas", "UIM core 2.4", Must, "constraints of parameters are valid", "intents-offered", (*verification).parameterSchemas},
	{
		"parameter-defaults", "UIM core 2.2", Must, "defaults belong to optional parameters and satisfy their constraints",
		"intents-offered", (*verification).parameterDefaults,
	},
	{"parameter-described", "UIM core 2.2", May, "parameters are described", "intents-offered", (*verification).parameterDescribed},
	{"intent-outputs", "UIM core 2.2.2", Should, "intents declare their outputs", "intents-offered", (*verification).intentOutputs},
	{"intent-endpoint", "UIM core 1.1", Must, "intents have an endpoint", "intents-offered", (*verification).intentEndpoint},

	{"policy-served", "UIM core 4.2", Must, "the policy exists and is not too large", "agents-readable", (*verification).policyServed},
	{"policy-type", "UIM core 4.2", Should, "the policy is served as JSON", "policy-served", (*verification).policyType},
	{
		"policy-json", "UIM core 6.2", Must, "the policy is one JSON object, without duplicate members",
		"policy-served", (*verification).policyJSON,
	},
	{"policy-digest", "RFC 8785 3.2", Must, "the policy can be signed: it has a canonical form", "policy-json", (*verification).policyDigest},
	{"policy-stable", "UIM core 4.2", Must, "two requests return the same policy", "policy-digest", (*verification).policyStable},
	{
		"policy-bytes", "UIM core 4.2", Should, "two requests return the same bytes and the same ETag",
		"policy-stable", (*verification).policyBytes,
	},
	{"policy-etag", "RFC 9110 8.8.3", Should, "the policy has an ETag", "policy-served", (*verification).policyETag},
	{
		"policy-conditional", "RFC 9110 13.1.2", Should, "a request for the policy with its ETag gets 304",
		"policy-etag", (*verification).policyConditional,
	},
	{"policy-context", "UIM core 6.2", Should, "@context contains the context of ODRL", "policy-json", (*verification).policyContext},
	{"policy-uid", "ODRL IM 2.1", Must, "the policy has a uid", "policy-json", (*verification).policyUID},
	{"policy-kind", "ODRL IM 2.1", Must, "the type of the policy is a policy type of ODRL", "policy-json", (*verification).policyKind},
	{"policy-profile", "UIM core 6.2", Should, "the policy names its profile", "policy-json", (*verification).policyProfile},
	{"policy-rules", "ODRL IM 2.1", Must, "the policy has a rule, and each rule has an action", "policy-json", (*verification).policyRules},
	{
		"policy-targets", "UIM core 6.1", Must, "the targets of permissions are intents of the service",
		"policy-rules", (*verification).policyTargets,
	},
	{"policy-covers", "UIM core 6.1", Should, "the policy permits every offered intent", "policy-targets", (*verification).policyCovers},

	{"search-answers", "UIM core 5.4", Must, "intents can be searched", "agents-readable", (*verification).searchAnswers},
	{
		"search-shape", "UIM core 5.4", Must, "a search returns {\"intents\": […]} with the uids of the intents",
		"search-answers", (*verification).searchShape,
	},
	{
		"search-same", "UIM core 5.4", Should, "the search returns intents as they are in agents.json",
		"search-shape", (*verification).searchSame,
	},
	{
		"search-pagination", "UIM core 5.4", Should, "pagination contains the number of intents",
		"search-shape", (*verification).searchPagination,
	},
	{
		"search-page-size", "UIM core 5.4", Should, "page_size determines the size of a page",
		"search-pagination", (*verification).searchPageSize,
	},
	{"search-pages", "UIM core 5.4", Should, "the second page continues after the first", "search-page-size", (*verification).searchPages},
	{"search-bound", "UIM core 5.4", Should, "a huge page_size is reduced to 100 or rejected", "search-shape", (*verification).searchBound},
	{
		"search-bad-page-size", "UIM core 3.3", Should, "a page_size that is not a number is rejected",
		"search-page-size", (*verification).searchBadPageSize,
	},
	{"search-uid", "UIM core 5.4", Must, "a search by uid finds only that intent", "search-shape", (*verification).searchUID},
	{"search-name", "UIM core 5.4", Should, "a search by intent_name finds the intent", "search-shape", (*verification).searchName},
	{"search-tags", "UIM core 5.4", Should, "a search by tags finds the intent", "search-shape", (*verification).searchTags},
	{"search-category", "UIM core 5.4", Should, "a search by category finds the intent", "search-shape", (*verification).searchCategory},
	{
		"search-description", "UIM core 5.4", Should, "a search by a word of the description finds the intent",
		"search-shape", (*verification).searchDescription,
	},
	{"search-nothing", "UIM core 5.4", Must, "a search for an unknown uid finds nothing", "search-shape", (*verification).searchNothing},
	{"intent-found", "UIM core 5.4", Should, "a single intent can be requested by its uid", "agents-readable", (*verification).intentFound},
	{"intent-missing", "UIM core 3.3", Must, "a request for an unknown intent gets 404", "intent-found", (*verification).intentMissing},

	{"error-404", "UIM core 3.3", Must, "a request for an unknown path gets 404", "agents-found", (*verification).error404},
	{
		"error-405", "RFC 9110 15.5.6", Should, "a method that a path does not support gets 405, with Allow",
		"agents-readable", (*verification).error405,
	},
	{"error-400", "UIM core 3.3", Must, "a body that is not JSON gets 400", "agents-readable", (*verification).error400},
	{"error-415", "RFC 9110 15.5.16", Should, "a body of another media type gets 415", "error-400", (*verification).error415},
	{"error-401", "UIM core 4.3", Must, "a call without a PAT gets 401", "agents-readable", (*verification).error401},
	{
		"error-challenge", "RFC 9110 11.6.1", Must, "a 401 has WWW-Authenticate, with the scheme Bearer",
		"error-401", (*verification).errorChallenge,
	},
	{"pat-garbage", "UIM core 4.3", Must, "a string that is not a PAT gets 401", "agents-readable", (*verification).patGarbage},

	{"pat-issue", "UIM core 4.2", Must, "a signed policy is exchanged for a PAT", "policy-stable", (*verification).patIssue},
	{
		"pat-fresh", "UIM core 4.2", May, "an agreement that is bound to service, time and nonce is accepted",
		"pat-issue", (*verification).patFresh,
	},
	{"pat-no-store", "RFC 6749 5.1", Should, "the response with the PAT has Cache-Control: no-store", "pat-issue", (*verification).patNoStore},
	{"pat-jwt", "UIM core 4.1", Must, "the PAT is a JWT", "pat-issue", (*verification).patJWT},
	{"pat-answer", "UIM core 4.2", Should, "the response contains the expiry of the PAT", "pat-jwt", (*verification).patAnswer},
	{"pat-algorithm", "RFC 8725 3.1", Must, "the PAT is signed with a key pair: not none, not HS*", "pat-jwt", (*verification).patAlgorithm},
	{
		"pat-signature", "UIM core 4.3", Must, "the PAT is signed with a key that the service publishes",
		"pat-algorithm", (*verification).patSignature,
	},
	{"pat-type", "RFC 8725 3.11", May, "the header of the PAT names its type", "pat-jwt", (*verification).patType},
	{"pat-claims", "UIM core 4.1.1", Must, "the PAT has iss, sub, exp, nbf, jti and scope", "pat-jwt", (*verification).patClaims},
	{"pat-issuer", "UIM core 4.1.1", Must, "iss is the service", "pat-claims", (*verification).patIssuer},
	{"pat-subject", "UIM core 4.1.1", Must, "sub is the agent", "pat-claims", (*verification).patSubject},
	{"pat-times", "UIM core 4.1.1", Must, "the PAT is valid now, and not for too long", "pat-claims", (*verification).patTimes},
	{
		"pat-scope", "UIM core 4.1.1", Must, "scope is a list of <intent_uid>:<operation> with offered intents",
		"pat-claims", (*verification).patScope,
	},
	{"pat-policy", "UIM core 4.1.2", Should, "pol names the policy", "pat-jwt", (*verification).patPolicy},
	{"pat-limits", "UIM core 4.1.2", May, "lmt contains the limit", "pat-jwt", (*verification).patLimits},
	{
		"agreement-replayed", "UIM core 4.2", Should, "a repeated fresh agreement gets no second PAT",
		"pat-fresh", (*verification).agreementReplayed,
	},
	{
		"agreement-forged", "UIM core 4.2", Must, "an agreement that is signed with a key other than the one it names is rejected",
		"pat-issue", (*verification).agreementForged,
	},

	{"pat-tampered", "UIM core 4.3", Must, "a PAT with a changed signature gets 401", "pat-algorithm", (*verification).patTampered},
	{"pat-altered", "UIM core 4.3", Must, "a PAT with changed claims gets 401", "pat-algorithm", (*verification).patAltered},
	{"pat-unsigned", "RFC 8725 3.1", Must, "a PAT with alg none gets 401", "pat-algorithm", (*verification).patUnsigned},
	{
		"pat-hmac", "RFC 8725 3.1", Must, "a PAT with HS256 and the public key as the secret gets 401",
		"pat-algorithm", (*verification).patHMAC,
	},
	{
		"pat-other-key", "UIM core 4.3", Must, "a PAT that is signed with another key gets 401",
		"pat-algorithm", (*verification).patOtherKey,
	},

	{"execute-answers", "UIM core 3.2", Must, "a safe intent can be executed", "pat-jwt", (*verification).executeAnswers},
	{"execute-output", "UIM core 3.1.3", Must, "the result matches the declared outputs", "execute-answers", (*verification).executeOutput},
	{
		"execute-limits", "RateLimit draft 11, 3", Should, "the response contains what is left of the limits",
		"execute-answers", (*verification).executeLimits,
	},
	{
		"execute-missing", "UIM core 3.1.1", Must, "a missing required parameter gets 400",
		"execute-answers", (*verification).executeMissing,
	},
	{"execute-unknown", "UIM core 3.1.1", Should, "an unknown parameter gets 400", "execute-answers", (*verification).executeUnknown},
	{
		"execute-wrong-type", "UIM core 3.1.1", Must, "a parameter of the wrong type gets 400",
		"execute-answers", (*verification).executeWrongType,
	},
	{
		"execute-constraint", "UIM core 3.1.1", Must, "a parameter that violates a constraint gets 400",
		"execute-answers", (*verification).executeConstraint,
	},
	{"execute-no-intent", "UIM core 3.3", Must, "a call to an unknown intent is rejected", "pat-jwt", (*verification).executeNoIntent},
	{
		"execute-malformed", "UIM core 3.3", Must, "a call that is not JSON gets 400",
		"execute-answers", (*verification).executeMalformed,
	},
	{
		"execute-suggestion", "UIM core 3.1.4", Should, "the error about a parameter has a suggestion",
		"execute-answers", (*verification).executeSuggestion,
	},
}

// renewals are the checks that renew the PAT and then revoke it.
var renewals = []check{
	{"renew", "UIM core 4.4", Should, "a PAT can be renewed; the new PAT has another jti", "pat-claims", (*verification).renew},
	{"renewed-taken", "UIM core 4.4", Must, "the renewed PAT is accepted", "renew", (*verification).renewedTaken},
	{"revoke", "UIM core 4.5", Should, "the holder of a PAT can revoke it", "pat-jwt", (*verification).revoke},
	{"revoked-refused", "UIM core 4.5", Must, "a revoked PAT gets 401", "revoke", (*verification).revokedRefused},
}

// atLast are the checks that need no valid PAT, and those that examine all errors that were received.
var atLast = []check{
	{
		"revoke-unknown", "RFC 7009 2.2", May, "the revocation of a string that is not a token gets 200",
		"revoke", (*verification).revokeUnknown,
	},
	{"pat-expired", "UIM core 4.3", Must, "an expired PAT gets 401", "pat-claims", (*verification).patExpired},

	{
		"error-envelope", "UIM core 3.3", Must, "every error is {\"error\": {code, message}} in JSON",
		"agents-found", (*verification).errorEnvelope,
	},
	{"error-codes", "UIM core 3.3", Should, "error codes are symbols that match the status", "error-envelope", (*verification).errorCodes},
	{"error-failures", "UIM core 3.3", Must, "no request made the service fail (5xx)", "agents-found", (*verification).errorFailures},
	{
		"error-internals", "UIM core 3.1.4", Must, "no error reveals internals: stack traces, SQL, paths, addresses",
		"agents-found", (*verification).errorInternals,
	},
	{"request-id", "UIM draft", May, "the response repeats UIM-Request-ID", "error-404", (*verification).requestID},
}
