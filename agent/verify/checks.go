package verify

import "context"

// A check is one point of the list. After names the check it rests on: where that does not hold, nothing
// can be told.
type check struct {
	id      string
	section string
	level   Level
	title   string
	after   string
	run     func(*visit, context.Context) finding
}

// checks is everything that is verified, in the order in which it is told.
var checks = []check{
	{"dns-agents-file", "UIM core 5.1", Should, "DNS says where agents.json is", "", (*visit).dnsAgentsFile},
	{"dns-policy-file", "UIM core 5.1", Should, "DNS says where the policy is", "dns-agents-file", (*visit).dnsPolicyFile},
	{"dns-agrees", "UIM core 5.1", Should, "DNS and agents.json say the same", "dns-agents-file", (*visit).dnsAgrees},

	{"agents-found", "UIM core 5.2", Must, "agents.json is there, within bounds", "", (*visit).agentsFound},
	{"agents-direct", "UIM core 5.3", Should, "agents.json is served by the site that is asked for it", "agents-found", (*visit).agentsDirect},
	{"agents-type", "UIM core 5.2", Must, "agents.json says that it is JSON", "agents-found", (*visit).agentsType},
	{"agents-json", "UIM core 5.2", Must, "agents.json is one JSON object, without duplicate members", "agents-found", (*visit).agentsJSON},
	{"agents-readable", "UIM core 5.2", Must, "agents.json is UIM's", "agents-json", (*visit).agentsReadable},
	{"agents-dialect", "UIM core 5.2", Should, "agents.json is written as core has it", "agents-readable", (*visit).agentsDialect},
	{"agents-well-known", "RFC 8615 3", May, "agents.json is also at /.well-known/agents.json", "agents-json", (*visit).agentsWellKnown},
	{"agents-etag", "RFC 9110 8.8.3", Should, "agents.json has an ETag", "agents-found", (*visit).agentsETag},
	{"agents-conditional", "RFC 9110 13.1.2", Should, "asked again under its ETag, agents.json is 304", "agents-etag", (*visit).agentsConditional},

	{"service-name", "UIM core 5.2", Must, "service-info has a name", "agents-readable", (*visit).serviceName},
	{"service-description", "UIM core 5.2", Should, "service-info has a description and service_url", "agents-readable", (*visit).serviceDescription},
	{"service-urls", "UIM core 5.2", Must, "URLs in agents.json are absolute, and https", "agents-readable", (*visit).serviceURLs},
	{"public-key", "UIM core 5.2", Must, "uim-public-key is a public key fit for use", "agents-readable", (*visit).publicKey},
	{"jwks", "RFC 7517 5", May, "the keys are also at /.well-known/jwks.json", "agents-readable", (*visit).keySet},
	{"jwks-agrees", "RFC 7517 5", Must, "uim-public-key is one of the key set", "jwks", (*visit).keySetAgrees},
	{"policy-file", "UIM core 5.2", Must, "uim-policy-file names the policy, at the same site", "agents-readable", (*visit).policyFile},
	{"endpoints-site", "UIM core 5.2", Should, "discovery and execute URLs are at the same site", "agents-readable", (*visit).endpointsSite},
	{"compliance", "UIM core 5.2", May, "uim-compliance has its form", "agents-readable", (*visit).compliance},
	{"license", "UIM core 5.1", May, "uim-license names a UIM license", "agents-readable", (*visit).license},

	{"intents-offered", "UIM core 1.1", Must, "there is an intent", "agents-readable", (*visit).intentsOffered},
	{"intent-uid", "UIM core 1.2", Must, "intent_uid is namespace:intent-name:version", "intents-offered", (*visit).intentUID},
	{"intent-unique", "UIM core 1.2", Must, "no intent_uid stands twice", "intents-offered", (*visit).intentUnique},
	{"intent-namespace", "UIM core 1.2", Should, "namespaces are the service's own", "intents-offered", (*visit).intentNamespace},
	{"intent-names", "UIM core 1.1", Must, "intents have a name and a description", "intents-offered", (*visit).intentNames},
	{"parameter-form", "UIM core 2.2", Should, "parameters are lists of {name, type, …}", "intents-offered", (*visit).parameterForm},
	{"parameter-types", "UIM core 2.3", Must, "parameters have a type that UIM knows", "intents-offered", (*visit).parameterTypes},
	{"parameter-schemas", "UIM core 2.4", Must, "constraints make sense", "intents-offered", (*visit).parameterSchemas},
	{"parameter-defaults", "UIM core 2.2", Must, "defaults belong to optional parameters and keep their constraints", "intents-offered", (*visit).parameterDefaults},
	{"parameter-described", "UIM core 2.2", May, "parameters are described", "intents-offered", (*visit).parameterDescribed},
	{"intent-outputs", "UIM core 2.2.2", Should, "intents say what they answer", "intents-offered", (*visit).intentOutputs},
	{"intent-endpoint", "UIM core 1.1", Must, "intents say where they are executed", "intents-offered", (*visit).intentEndpoint},

	{"policy-served", "UIM core 4.2", Must, "the policy is there, within bounds", "agents-readable", (*visit).policyServed},
	{"policy-type", "UIM core 4.2", Should, "the policy says that it is JSON", "policy-served", (*visit).policyType},
	{"policy-json", "UIM core 6.2", Must, "the policy is one JSON object, without duplicate members", "policy-served", (*visit).policyJSON},
	{"policy-digest", "RFC 8785 3.2", Must, "the policy can be signed: its numbers survive", "policy-json", (*visit).policyDigest},
	{"policy-stable", "UIM core 4.2", Must, "fetched twice, the policy is the same", "policy-digest", (*visit).policyStable},
	{"policy-bytes", "UIM core 4.2", Should, "fetched twice, it is the same byte for byte", "policy-stable", (*visit).policyBytes},
	{"policy-etag", "RFC 9110 8.8.3", Should, "the policy has an ETag", "policy-served", (*visit).policyETag},
	{"policy-conditional", "RFC 9110 13.1.2", Should, "asked again under its ETag, the policy is 304", "policy-etag", (*visit).policyConditional},
	{"policy-context", "UIM core 6.2", Should, "@context is ODRL's", "policy-json", (*visit).policyContext},
	{"policy-uid", "ODRL IM 2.1", Must, "the policy has a uid", "policy-json", (*visit).policyUID},
	{"policy-kind", "ODRL IM 2.1", Must, "its type is Set, Offer or Agreement", "policy-json", (*visit).policyKind},
	{"policy-profile", "UIM core 6.2", Should, "it names its profile", "policy-json", (*visit).policyProfile},
	{"policy-rules", "ODRL IM 2.1", Must, "it has a rule, and each rule an action", "policy-json", (*visit).policyRules},
	{"policy-targets", "UIM core 6.1", Must, "what it permits are intents of the service", "policy-rules", (*visit).policyTargets},
	{"policy-covers", "UIM core 6.1", Should, "it permits every intent that is offered", "policy-targets", (*visit).policyCovers},

	{"search-answers", "UIM core 5.4", Must, "intents can be searched", "agents-readable", (*visit).searchAnswers},
	{"search-shape", "UIM core 5.4", Must, "a search answers {\"intents\": […]} with their uids", "search-answers", (*visit).searchShape},
	{"search-same", "UIM core 5.4", Should, "what it finds is what agents.json says", "search-shape", (*visit).searchSame},
	{"search-pagination", "UIM core 5.4", Should, "it says how many there are, in pagination", "search-shape", (*visit).searchPagination},
	{"search-page-size", "UIM core 5.4", Should, "page_size is kept", "search-pagination", (*visit).searchPageSize},
	{"search-pages", "UIM core 5.4", Should, "the second page goes on after the first", "search-page-size", (*visit).searchPages},
	{"search-bound", "UIM core 5.4", Should, "a huge page_size is cut to 100 or refused", "search-shape", (*visit).searchBound},
	{"search-bad-page-size", "UIM core 3.3", Should, "a page_size that is no number is refused", "search-page-size", (*visit).searchBadPageSize},
	{"search-uid", "UIM core 5.4", Must, "search by uid finds that intent alone", "search-shape", (*visit).searchUID},
	{"search-name", "UIM core 5.4", Should, "search by intent_name", "search-shape", (*visit).searchName},
	{"search-tags", "UIM core 5.4", Should, "search by tags", "search-shape", (*visit).searchTags},
	{"search-category", "UIM core 5.4", Should, "search by category", "search-shape", (*visit).searchCategory},
	{"search-description", "UIM core 5.4", Should, "search by a word of the description", "search-shape", (*visit).searchDescription},
	{"search-nothing", "UIM core 5.4", Must, "what is not there is not found", "search-shape", (*visit).searchNothing},
	{"intent-found", "UIM core 5.4", Should, "one intent can be asked for by its uid", "agents-readable", (*visit).intentFound},
	{"intent-missing", "UIM core 3.3", Must, "an intent that is not there is 404", "intent-found", (*visit).intentMissing},

	{"error-404", "UIM core 3.3", Must, "a path that is not there is 404", "agents-found", (*visit).error404},
	{"error-405", "RFC 9110 15.5.6", Should, "a method that a path does not take is 405, with Allow", "agents-readable", (*visit).error405},
	{"error-400", "UIM core 3.3", Must, "a body that is no JSON is 400", "agents-readable", (*visit).error400},
	{"error-415", "RFC 9110 15.5.16", Should, "a body of another media type is 415", "error-400", (*visit).error415},
	{"error-401", "UIM core 4.3", Must, "executing without a PAT is 401", "agents-readable", (*visit).error401},
	{"error-challenge", "RFC 9110 11.6.1", Must, "a 401 carries WWW-Authenticate, with Bearer", "error-401", (*visit).errorChallenge},
	{"pat-garbage", "UIM core 4.3", Must, "a PAT that is none is 401", "agents-readable", (*visit).patGarbage},

	{"pat-issue", "UIM core 4.2", Must, "signing the policy gets a PAT", "policy-stable", (*visit).patIssue},
	{"pat-fresh", "UIM core 4.2", May, "an agreement bound to service, time and nonce is taken", "pat-issue", (*visit).patFresh},
	{"pat-no-store", "RFC 6749 5.1", Should, "the answer must not be stored", "pat-issue", (*visit).patNoStore},
	{"pat-jwt", "UIM core 4.1", Must, "the PAT is a JWT", "pat-issue", (*visit).patJWT},
	{"pat-answer", "UIM core 4.2", Should, "the answer says when the PAT ends, as the PAT does", "pat-jwt", (*visit).patAnswer},
	{"pat-algorithm", "RFC 8725 3.1", Must, "it is signed with a key pair: not none, not HS*", "pat-jwt", (*visit).patAlgorithm},
	{"pat-signature", "UIM core 4.3", Must, "its signature is by a key the service publishes", "pat-algorithm", (*visit).patSignature},
	{"pat-type", "RFC 8725 3.11", May, "its header names its type", "pat-jwt", (*visit).patType},
	{"pat-claims", "UIM core 4.1.1", Must, "it has iss, sub, exp, nbf, jti and scope", "pat-jwt", (*visit).patClaims},
	{"pat-issuer", "UIM core 4.1.1", Must, "iss is the service", "pat-claims", (*visit).patIssuer},
	{"pat-subject", "UIM core 4.1.1", Must, "sub is the agent", "pat-claims", (*visit).patSubject},
	{"pat-times", "UIM core 4.1.1", Must, "nbf has come and exp has not, nor is it far off", "pat-claims", (*visit).patTimes},
	{"pat-scope", "UIM core 4.1.1", Must, "scope is a list of <intent_uid>:<operation> of intents offered", "pat-claims", (*visit).patScope},
	{"pat-policy", "UIM core 4.1.2", Should, "pol says which policy it adheres to", "pat-jwt", (*visit).patPolicy},
	{"pat-limits", "UIM core 4.1.2", May, "lmt says what it is limited to", "pat-jwt", (*visit).patLimits},
	{"agreement-replayed", "UIM core 4.2", Should, "the same fresh agreement gets no second PAT", "pat-fresh", (*visit).agreementReplayed},
	{"agreement-forged", "UIM core 4.2", Must, "an agreement signed with another key than it names is refused", "pat-issue", (*visit).agreementForged},

	{"pat-tampered", "UIM core 4.3", Must, "a PAT with another signature is 401", "pat-algorithm", (*visit).patTampered},
	{"pat-altered", "UIM core 4.3", Must, "a PAT with other claims is 401", "pat-algorithm", (*visit).patAltered},
	{"pat-unsigned", "RFC 8725 3.1", Must, "a PAT with alg none is 401", "pat-algorithm", (*visit).patUnsigned},
	{"pat-hmac", "RFC 8725 3.1", Must, "a PAT signed HS256 with the public key as secret is 401", "pat-algorithm", (*visit).patHMAC},
	{"pat-other-key", "UIM core 4.3", Must, "a PAT signed with another key is 401", "pat-algorithm", (*visit).patOtherKey},

	{"execute-answers", "UIM core 3.2", Must, "a safe intent can be executed", "pat-jwt", (*visit).executeAnswers},
	{"execute-output", "UIM core 3.1.3", Must, "its answer is what its outputs say", "execute-answers", (*visit).executeOutput},
	{"execute-limits", "RateLimit draft 11, 3", Should, "it says what is left of the limits", "execute-answers", (*visit).executeLimits},
	{"execute-missing", "UIM core 3.1.1", Must, "a required parameter left out is 400", "execute-answers", (*visit).executeMissing},
	{"execute-unknown", "UIM core 3.1.1", Should, "a parameter it does not have is 400", "execute-answers", (*visit).executeUnknown},
	{"execute-wrong-type", "UIM core 3.1.1", Must, "a parameter of another type is 400", "execute-answers", (*visit).executeWrongType},
	{"execute-constraint", "UIM core 3.1.1", Must, "a parameter beyond its constraints is 400", "execute-answers", (*visit).executeConstraint},
	{"execute-no-intent", "UIM core 3.3", Must, "an intent that is not there is not executed", "pat-jwt", (*visit).executeNoIntent},
	{"execute-malformed", "UIM core 3.3", Must, "a call that is no JSON is 400", "execute-answers", (*visit).executeMalformed},
	{"execute-suggestion", "UIM core 3.1.4", Should, "a refused parameter comes with a suggestion", "execute-answers", (*visit).executeSuggestion},

	{"renew", "UIM core 4.4", Should, "a PAT is renewed, under another jti", "pat-claims", (*visit).renew},
	{"renewed-taken", "UIM core 4.4", Must, "the renewed PAT is taken", "renew", (*visit).renewedTaken},
	{"revoke", "UIM core 4.5", Should, "a PAT can be revoked by who has it", "pat-jwt", (*visit).revoke},
	{"revoked-refused", "UIM core 4.5", Must, "a revoked PAT is 401", "revoke", (*visit).revokedRefused},
	{"revoke-unknown", "RFC 7009 2.2", May, "revoking a token that is none is 200", "revoke", (*visit).revokeUnknown},
	{"pat-expired", "UIM core 4.3", Must, "an expired PAT is 401", "pat-claims", (*visit).patExpired},

	{"error-envelope", "UIM core 3.3", Must, "every error is {\"error\": {code, message}} in JSON", "agents-found", (*visit).errorEnvelope},
	{"error-codes", "UIM core 3.3", Should, "codes of errors are symbols that fit the status", "error-envelope", (*visit).errorCodes},
	{"error-failures", "UIM core 3.3", Must, "nothing that was asked made the service fail (5xx)", "agents-found", (*visit).errorFailures},
	{"error-internals", "UIM core 3.1.4", Must, "no error tells of the inside: stacks, SQL, paths, addresses", "agents-found", (*visit).errorInternals},
	{"request-id", "UIM draft", May, "UIM-Request-ID comes back", "error-404", (*visit).requestID},
}
