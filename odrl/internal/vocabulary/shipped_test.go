package vocabulary_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/vocabulary"
)

// published are the terms of the built-in vocabularies as their publishers define them: the profiles, then an entry for each term: "a = b"
// for another name of an ODRL term, "a in b" for actions and values, "a, type" for left operands.
var published = map[string]struct {
	prefixes map[string]string
	profiles string
	terms    string
}{
	"catena-x": {
		map[string]string{
			"https://w3id.org/catenax/policy/": "cx:", "https://w3id.org/catenax/2025/9/policy/": "y25:",
			"https://w3id.org/tractusx/v0.0.1/ns/": "tx:",
		},
		"cx: cx:profile-2506 cx:profile2405",
		`cx:access in use; cx:usage in use; y25:access in use;
		cx:BusinessPartnerGroup, text; cx:BusinessPartnerNumber, text; cx:ContractReference, text; cx:FrameworkAgreement, text;
		cx:Membership, text; cx:UsagePurpose, text; tx:BusinessPartnerGroup, text; tx:BusinessPartnerNumber, text;
		y25:AffiliatesBpnl, text; y25:AffiliatesRegion, text; y25:BusinessPartnerGroup, text; y25:BusinessPartnerNumber, text;
		y25:ConfidentialInformationMeasures, text; y25:ConfidentialInformationSharing, text; y25:ContractReference, text;
		y25:ContractTermination, text; y25:DataFrequency, text; y25:DataProvisioningEndDate, text;
		y25:DataProvisioningEndDurationDays, integer; y25:DataUsageEndDate, text; y25:DataUsageEndDefinition, text;
		y25:DataUsageEndDurationDays, integer; y25:ExclusiveUsage, text; y25:FrameworkAgreement, text; y25:JurisdictionLocation, text;
		y25:JurisdictionLocationReference, text; y25:Liability, text; y25:ManagedLegalEntityBpnl, text;
		y25:ManagedLegalEntityRegion, text; y25:Membership, text; y25:ParticipationEnd, text; y25:Precedence, text;
		y25:UsagePurpose, text; y25:UsageRestriction, text; y25:VersionChanges, text; y25:Warranty, text; y25:WarrantyDefinition, text;
		y25:WarrantyDuration, text; y25:WarrantyDurationMonths, integer`,
	},
	"ids": {
		map[string]string{"https://w3id.org/idsa/code/": "idsc:"},
		"https://w3id.org/idsa/core https://w3id.org/idsa/core/ idsc:",
		`idsc:USE = use; idsc:READ = read; idsc:MODIFY = modify; idsc:DELETE = delete; idsc:ANONYMIZE = anonymize;
		idsc:DISTRIBUTE = distribute; idsc:GRANT_USE = grantUse; idsc:COMPENSATE = compensate; idsc:NEXT_POLICY = nextPolicy;
		idsc:AGGREGATE_BY_CONSUMER in aggregate; idsc:AGGREGATE_BY_PROVIDER in idsc:AGGREGATE_BY_CONSUMER; idsc:ENCRYPT in use;
		idsc:LOG in use; idsc:NOTIFY in inform idsc:LOG; idsc:TRACK_PROVENANCE in idsc:NOTIFY; idsc:ADD in; idsc:DIVIDE in;
		idsc:MULTIPLY in; idsc:HASH in; idsc:REPLACE in; idsc:SHUFFLE in; idsc:INCREMENT_COUNTER in;
		idsc:POLICY_EVALUATION_TIME = dateTime; idsc:DATE_TIME = dateTime; idsc:ELAPSED_TIME = elapsedTime; idsc:COUNT = count;
		idsc:PURPOSE = purpose; idsc:PAY_AMOUNT = payAmount; idsc:SYSTEM_DEVICE = systemDevice;
		idsc:ABSOLUTE_SPATIAL_POSITION, text; idsc:APPLICATION, text; idsc:ARTIFACT_STATE, text; idsc:CONNECTOR, text;
		idsc:DELAY, duration; idsc:ENDPOINT, text; idsc:EVENT, text; idsc:HASH_ALGORITHM, text; idsc:JSON_PATH, text;
		idsc:LOG_LEVEL, text; idsc:NOTIFICATION_LEVEL, text; idsc:OPERAND, text; idsc:PATH, text; idsc:PAYMENT, text;
		idsc:QUANTITY, double; idsc:RECIPIENT, text; idsc:RECURRENCE_RATE, double; idsc:REPLACE_WITH, text; idsc:ROLE, text;
		idsc:SECURITY_LEVEL, text; idsc:STATE, text; idsc:SYSTEM, text; idsc:TARGET_POLICY, text; idsc:USER, text; idsc:XPATH, text;
		idsc:EQ = eq; idsc:EQUALS = eq; idsc:SAME_AS = eq; idsc:STRING_EQ = eq; idsc:NOT = neq; idsc:GT = gt; idsc:GTEQ = gteq;
		idsc:LT = lt; idsc:LTEQ = lteq; idsc:BEFORE = lt; idsc:AFTER = gt; idsc:TEMPORAL_EQUALS = eq; idsc:DURATION_EQ = eq;
		idsc:LONGER = gt; idsc:LONGER_EQ = gteq; idsc:SHORTER = lt; idsc:SHORTER_EQ = lteq; idsc:IN = isAnyOf`,
	},
	"dpv": { // plus 118 purposes
		map[string]string{"https://w3id.org/dpv#": "dpv:", "https://w3id.org/dpv/mappings/odrl#": "map:"},
		"dpv: https://w3id.org/dpv https://w3id.org/dpv/mappings/odrl",
		`map:Purpose = purpose; dpv:hasPurpose = purpose; map:Duration, duration; map:Data, text; map:DataController, text;
		map:DataProcessor, text; map:DataSource, text; map:DataSubject, text; map:Entity, text; map:Frequency, text;
		map:HumanSubject, text; map:Justification, text; map:Law, text; map:LegalBasis, text; map:LegalMeasure, text;
		map:Location, text; map:OrganisationalMeasure, text; map:PersonalData, text; map:PhysicalMeasure, text; map:Recipient, text;
		map:Right, text; map:Risk, text; map:TechnicalMeasure, text; map:TechnicalOrganisationalMeasure, text; map:Technology, text`,
	},
	"tdmrep": {
		map[string]string{"http://www.w3.org/ns/tdmrep#": "tdm:"},
		"http://www.w3.org/ns/tdmrep http://www.w3.org/ns/tdmrep/ http://www.w3.org/ns/tdmrep/policy",
		`tdm:mine in use; tdm:purpose = purpose`,
	},
	"rightsml": {
		nil,
		`http://iptc.org/std/RightsML/odrl-profile/ https://iptc.org/std/RightsML/odrl-profile
		https://iptc.org/std/RightsML/odrl-profile/`,
		``,
	},
	"rsl": {
		map[string]string{"https://rslstandard.org/rsl#": "rsl:"},
		"https://rslstandard.org/rsl",
		`rsl:all = use; rsl:ai-all in use; rsl:ai-train in rsl:ai-all; rsl:ai-input in rsl:ai-all; rsl:ai-index in rsl:ai-all;
		rsl:search in use; rsl:user, text`,
	},
	"uim": {
		map[string]string{"http://uimprotocol.com/uim/odrl/": "uim:"},
		"http://uimprotocol.com/uim/odrl uim:",
		`uim:aiUse in use; uim:aiTraining in uim:aiUse; uim:aiResearch in use; uim:index = reproduce; uim:search = distribute;
		uim:action#analyze = analyze;
		uim:assigneeType, text; uim:dataFreshness, duration; uim:compensationRequired, text`,
	},
}

func TestShippedTermsMatchPublished(t *testing.T) {
	for _, name := range vocabulary.Names() {
		want, ok := published[name]
		if !ok {
			t.Errorf("%s: missing from published", name)
			continue
		}
		pairs := []string{"http://www.w3.org/ns/odrl/2/", ""}
		for iri, prefix := range want.prefixes {
			pairs = append(pairs, iri, prefix)
		}
		short := strings.NewReplacer(pairs...)
		v := vocabulary.Shipped(name)
		var profiles, terms []string
		for _, iri := range v.Profiles {
			profiles = append(profiles, short.Replace(iri))
		}
		for iri, term := range v.Terms {
			if name != "dpv" || term.Class != "" || term.Same != "" {
				terms = append(terms, short.Replace(describe(iri, term)))
			}
			if term.Class == "LeftOperand" && term.Same == "" && term.Words == "" {
				t.Errorf("%s: %s has no label", name, iri)
			}
		}
		same(t, name+", profiles", profiles, strings.Fields(want.profiles))
		same(t, name+", terms", terms, strings.Split(want.terms, ";"))
	}
}

// describe formats a term like an entry in published.
func describe(iri string, t *vocabulary.Term) string {
	switch {
	case t.Same != "":
		return iri + " = " + t.Same
	case t.Class == "LeftOperand" && t.Range == "":
		return iri + ", text"
	case t.Class == "LeftOperand":
		return iri + ", " + t.Range
	default:
		return strings.TrimSpace(iri + " in " + strings.Join(append(t.IncludedIn, t.Within...), " "))
	}
}

// same compares two lists, regardless of order and spaces.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i, s := range want {
		want[i] = strings.Join(strings.Fields(s), " ")
	}
	want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
	for _, s := range want {
		if !slices.Contains(got, s) {
			t.Errorf("%s: lacks %q", what, s)
		}
	}
	for _, s := range got {
		if !slices.Contains(want, s) {
			t.Errorf("%s: has %q, which is not published", what, s)
		}
	}
}

func TestDPVPurposeHierarchy(t *testing.T) {
	const dpv = "https://w3id.org/dpv#"
	v := vocabulary.Shipped("dpv")
	purposes := 0
	for iri, term := range v.Terms {
		if term.Class != "" || term.Same != "" {
			continue
		}
		purposes++
		if !reaches(v, iri, dpv+"Purpose", 0) {
			t.Errorf("%s is not below Purpose", iri)
		}
	}
	if purposes != 118 {
		t.Errorf("%d purposes, want the 118 below Purpose in DPV 2.2", purposes)
	}
	for _, tt := range []struct{ purpose, broader string }{
		{"AgeVerification", "Verification"},
		{"CommercialResearch", "CommercialPurpose ResearchAndDevelopment"},
		{"CommunicationForCustomerCare", "CommunicationManagement CustomerCare"},
		{"FraudPreventionAndDetection", "MisusePreventionAndDetection"},
		{"ImproveInternalCRMProcesses", "CustomerRelationshipManagement OptimisationForController"},
		{"LegalCompliance", "FulfilmentOfObligation"},
		{"Marketing", "Purpose"},
		{"PersonalisedAdvertising", "Advertising Personalisation"},
		{"PersonnelPerformanceMonitoring", "PersonnelMonitoring PersonnelPerformanceManagement"},
		{"PoliticalCampaign", "Advertising Personalisation"},
		{"ProvideProductRecommendations", "ProvidePersonalisedRecommendations"},
		{"RecruitmentTargetedAdvertising", "RecruitmentAdvertising TargetedAdvertising"},
		{"RightsFulfilment", "LegalObligation Purpose"},
		{"SellDataToThirdParties", "SellProducts"},
		{"ServicePersonalisation", "Personalisation ServiceProvision"},
		{"VendorPayment", "VendorManagement"},
	} {
		term := v.Terms[dpv+tt.purpose]
		if term == nil {
			t.Errorf("%s is missing", tt.purpose)
			continue
		}
		var got []string
		for _, b := range term.Within {
			got = append(got, strings.TrimPrefix(b, dpv))
		}
		same(t, tt.purpose, got, strings.Fields(tt.broader))
	}
}

// reaches reports whether a value is within another, in at most ten steps.
func reaches(v *vocabulary.Vocabulary, from, to string, steps int) bool {
	term := v.Terms[from]
	return steps <= 10 && (from == to || term != nil && slices.ContainsFunc(term.Within, func(b string) bool {
		return reaches(v, b, to, steps+1)
	}))
}
