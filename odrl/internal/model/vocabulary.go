package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

// The namespaces of terms, without the scheme, because http and https are treated alike.
const (
	OdrlNS = "www.w3.org/ns/odrl/2/"
	rdfNS  = "www.w3.org/1999/02/22-rdf-syntax-ns#"
	xsdNS  = "www.w3.org/2001/XMLSchema#"
	ccNS   = "creativecommons.org/ns#"
	UimNS  = "example.com/vocab/" // the vocabulary of the UIM profile, as UIM core 6.2 writes it
)

// contexts are the JSON-LD contexts whose terms are built in. The package never fetches them. The contexts of the Dataspace Protocol
// (2024-1, 2025-1) and of Catena-X (25.09) give ODRL's terms the same meaning as ODRL's own context does.
var contexts = []string{
	"www.w3.org/ns/odrl.jsonld", "www.w3.org/ns/odrl/2/ODRL22.json", "www.w3.org/ns/odrl/2/",
	"w3id.org/dspace/2024/1/context.json", "w3id.org/dspace/2025/1/context.jsonld", "w3id.org/dspace/2025/1/odrl-profile.jsonld",
	"w3id.org/catenax/2025/9/policy/odrl.jsonld",
}

// profiles are the IRIs of the built-in profiles, without the scheme: the ODRL core, and the names in use for UIM's profile. ODRL IM 2.1
// requires an engine to stop at an unknown profile.
var profiles = append([]string{"www.w3.org/ns/odrl/2/core"}, uimProfiles...)

// uimProfiles are the names of UIM's profile. The first is that of UIM core 6.2.
var uimProfiles = []string{"example.com/profile/odrl-uim", "uimprotocol.com/uim/odrl-profile", "uimprotocol.org/ns/policy"}

// modelProfiles matches the profiles in the examples of ODRL IM 2.2. Their terms are not defined anywhere, so unknown terms are accepted.
var modelProfiles = regex.Lazy(`^example\.com/(odrl:profile:|profiles/)[0-9]{2}$`)

// prefixes are the prefixes of the ODRL context and other common ones. A document may declare more.
var prefixes = map[string]string{
	"odrl": "http://" + OdrlNS, "rdf": "http://" + rdfNS, "xsd": "http://" + xsdNS, "cc": "http://" + ccNS,
	"uim": "http://" + UimNS, "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "dc": "http://purl.org/dc/terms/",
	"dct": "http://purl.org/dc/terms/", "dcterms": "http://purl.org/dc/terms/", "skos": "http://www.w3.org/2004/02/skos/core#",
	"schema": "http://schema.org/", "foaf": "http://xmlns.com/foaf/0.1/", "vcard": "http://www.w3.org/2006/vcard/ns#",
	"owl": "http://www.w3.org/2002/07/owl#", "prov": "http://www.w3.org/ns/prov#",
}

// annotations are the namespaces whose properties only describe a node and never affect a decision.
var annotations = []string{
	"www.w3.org/2000/01/rdf-schema#", "purl.org/dc/terms/", "purl.org/dc/elements/1.1/", "www.w3.org/2004/02/skos/core#",
	"xmlns.com/foaf/0.1/", "www.w3.org/2006/vcard/ns#", "www.w3.org/ns/prov#", "schema.org/", "www.w3.org/2002/07/owl#", "www.w3.org/ns/dcat#",
}

// describing are the bare keys that only describe a node and never affect a decision. UIM documents write them without a prefix.
var describing = []string{
	"title", "name", "label", "comment", "description", "agreement", "note", "version", "issued", "modified",
	"creator", "publisher",
}

// licences are the properties of Creative Commons' vocabulary that describe a licence and never affect a decision.
var licences = strings.Fields("legalcode license attributionName attributionURL jurisdiction deprecatedOn licenseClass")

// actions maps each action of ODRL V 2.2 and of the UIM profile to the action that includes it; use and transfer have none. No UIM action
// is included in execute, because a prohibition of exceedRateLimit would then conflict with a permission to execute.
var actions = func() map[string]string {
	m := map[string]string{
		"use": "", "transfer": "", "give": "transfer", "sell": "transfer", "display": "play", "extract": "reproduce",
		"logUsage": "inform",
	}
	for name := range strings.FieldsSeq(`acceptTracking aggregate annotate anonymize archive attribute compensate concurrentUse delete derive
		digitize distribute ensureExclusivity execute grantUse include index inform install modify move nextPolicy obtainConsent play present
		print read reproduce reviewPolicy stream synchronize textToSpeech transform translate uninstall watermark
		Attribution CommercialUse DerivativeWorks Distribution Notice Reproduction ShareAlike Sharing SourceCode
		lease lend preview secondaryUse adHocShare extractChar extractPage extractWord
		signPayload exceedRateLimit analyze`) {
		m[name] = "use"
	}
	return m
}()

// ActionAliases maps deprecated and UIM spellings to the actions that they mean.
var ActionAliases = map[string]string{
	"append": "modify", "appendTo": "modify", "write": "modify", "writeTo": "modify", "copy": "reproduce", "export": "transform",
	"license": "grantUse", "pay": "compensate", "attachPolicy": "Notice", "attachSource": "SourceCode", "shareAlike": "ShareAlike",
	"commercialize": "CommercialUse", "share": "Sharing", "provideAttribution": "attribute",
}

// deprecated are the terms that ODRL V 2.2 deprecates without a replacement.
var deprecated = strings.Fields("lease lend preview secondaryUse adHocShare extractChar extractPage extractWord")

// ccTerms are the actions of ODRL V 2.2 that come from Creative Commons' vocabulary.
var ccTerms = strings.Fields("Attribution CommercialUse DerivativeWorks Distribution Notice Reproduction ShareAlike Sharing SourceCode")

// retired are the spellings that ODRL V 2.2 deprecates in favour of another one.
var retired = strings.Fields("append appendTo write writeTo copy export license pay attachPolicy attachSource shareAlike commercialize share device system neg")

// uimTerms are the terms of the UIM profile that ODRL itself does not have.
var uimTerms = append(strings.Fields("signPayload exceedRateLimit logUsage analyze within outside use"), uimOperands()...)

// Includes reports whether the built-in action a equals broad or is included in it. See ODRL IM, section 2.4.
func Includes(broad, a string) bool {
	for a != "" {
		if a == broad {
			return true
		}
		a = actions[a]
	}
	return false
}

var operators = []string{
	"eq", "neq", "lt", "lteq", "gt", "gteq", "isA", "hasPart", "isPartOf", "isAllOf", "isAnyOf", "isNoneOf",
	"within", "outside", "use",
}

var operatorAliases = map[string]string{"lte": "lteq", "gte": "gteq", "ne": "neq", "neg": "neq"}

var logics = []string{"and", "or", "xone", "andSequence"}

// datatypeNames are the datatypes of XML Schema 1.1 Part 2 and of RDF 1.1 (sections 5.1 to 5.3).
var datatypeNames = strings.Fields(`string boolean decimal float double integer long int short byte nonNegativeInteger positiveInteger
	nonPositiveInteger negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte date time dateTime dateTimeStamp duration
	dayTimeDuration yearMonthDuration gYear gMonth gDay gYearMonth gMonthDay anyURI base64Binary hexBinary language normalizedString token
	NMTOKEN Name NCName QName NOTATION
	anySimpleType anyAtomicType datetime langString HTML XMLLiteral JSON PlainLiteral`)

// isDatatype reports whether an IRI may be that of a datatype: a known one, or one in a vocabulary that is not known here. ODRL itself
// defines no datatypes.
func isDatatype(iri string) bool {
	rest, _ := Bare(iri)
	name, isXSD := strings.CutPrefix(rest, xsdNS)
	isRDF := false
	if !isXSD {
		name, isRDF = strings.CutPrefix(rest, rdfNS)
	}
	if isXSD || isRDF || !Absolute(iri) {
		return slices.Contains(datatypeNames, name)
	}
	return !strings.HasPrefix(rest, OdrlNS)
}

// functions are the party functions of ODRL V 2.2.
var functions = []string{
	"assigner", "assignee", "compensatedParty", "compensatingParty", "attributedParty", "attributingParty", "consentingParty",
	"consentedParty",
	"informedParty", "informingParty", "trackingParty", "trackedParty", "contractingParty", "contractedParty",
}

// PolicyTypes maps each policy class to whether a service can publish such a policy: the rules of the other classes grant nothing. An
// Offer that the service publishes states the terms on offer; issuing a PAT makes the Agreement.
var PolicyTypes = map[string]bool{
	"Policy": true, "Set": true, "Offer": true, "Agreement": true, "Privacy": true,
	"Assertion": false, "Request": false, "Ticket": false,
}

// keys are the names of all properties.
var keys = slices.Sorted(maps.Keys(func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`uid type profile conflict permission prohibition obligation duty action target asset party function identifier role
		constraint refinement leftOperand operator rightOperand rightOperandReference unit dataType status amount value currency start end
		inheritFrom hasPolicy assignerOf assigneeOf remedy consequence output relation source partOf implies includedIn isReplacedBy operand`) {
		m[name] = true
	}
	for _, list := range [][]string{functions, logics} {
		for _, name := range list {
			m[name] = true
		}
	}
	return m
}()))

// Handled are the duties that the gateway fulfils itself or requires of an agent.
var Handled = []string{"compensate", "signPayload", "attribute", "inform", "logUsage", "acceptTracking"}

// CurrencyNames maps the local names of currencies in vocabularies such as DBpedia to ISO 4217 codes.
var CurrencyNames = map[string]string{
	"Euro": "EUR", "United_States_dollar": "USD", "United_States_Dollar": "USD", "US_Dollar": "USD", "Pound_sterling": "GBP",
	"Pound_Sterling": "GBP",
	"Japanese_yen":   "JPY", "Japanese_Yen": "JPY", "Swiss_franc": "CHF", "Swiss_Franc": "CHF", "Renminbi": "CNY", "Indian_rupee": "INR",
	"Canadian_dollar": "CAD", "Australian_dollar": "AUD", "Swedish_krona": "SEK", "Norwegian_krone": "NOK", "Danish_krone": "DKK",
}

// UnitNamespaces are namespaces other than the profile's whose local names may be units or currencies.
var UnitNamespaces = []string{
	"dbpedia.org/resource/", "www.currency-iso.org/dam/downloads/lists/list_one.xml#", "cvx.iptc.org/iso4217a/", "cvx.iptc.org/iso4217a:",
	"publications.europa.eu/resource/authority/currency/",
	"www.w3.org/2006/time#", "qudt.org/vocab/unit/",
}

// Orderings are the operators that compare values by their order.
var Orderings = []string{"lt", "lteq", "gt", "gteq"}

// SetOperators are the operators that accept several right operands.
var SetOperators = []string{"isAnyOf", "isNoneOf", "isAllOf", "hasPart"}

// PeriodNames maps other names of periods to the names that limits use.
var PeriodNames = map[string]string{
	"HR": "hour", "MIN": "minute", "SEC": "second", "DAY": "day", "WK": "week", "MO": "month", "YR": "year",
	"unitHour": "hour", "unitMinute": "minute", "unitSecond": "second", "unitDay": "day", "unitWeek": "week", "unitMonth": "month",
	"unitYear": "year",
}
